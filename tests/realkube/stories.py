"""What is typed into both clusters: small stories over the verbs and kinds that users touch."""

from tests.realkube.agreement import Story


def a_job(name: str, spec: str = "backoffLimit: 0", annotations: str = "", meta: str = "") -> str:
    """A Job manifest of one small container; `spec` is a line of YAML in its specification."""
    return f"""\
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, namespace: default{meta}}}
spec:
  {spec}
  template:
    metadata: {{annotations: {{sim.roadstead.dev/run-seconds: "1"{annotations}}}}}
    spec:
      restartPolicy: Never
      containers: [{{name: main, image: example.test/x, resources: {{requests: {{cpu: 250m}}}}}}]
"""


def a_config_map(name: str, data: str) -> str:
    """A ConfigMap manifest; `data` is a flow mapping."""
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {data}\n"


_ENTRY = '{{.metadata.managedFields[?(@.manager=="{}")].{}}}'


def fields_of(manager: str) -> str:
    """A command that prints what one field manager owns of the ConfigMap `shared`."""
    paths = " ".join(_ENTRY.format(manager, key) for key in ("operation", "fieldsV1"))
    return f"get configmap shared -o jsonpath='{paths}'"


EVENT_COLUMNS = "-o custom-columns=:.type,:.reason,:.message,:.source.component,:.count"
POD_COLUMNS = (
    "-o custom-columns=:.metadata.generateName,:.metadata.labels,:.spec.hostname,:.status.phase"
)
COMPLETE_ALONE = '{"status":{"conditions":[{"type":"Complete","status":"True"}]}}'

JOBS = (
    Story(
        "a Job that completes",
        (
            "create -f @job",
            "wait --for=condition=Complete job/completes --timeout=30s",
            "get job completes -o json",
            "get job completes",
            "get job completes -o wide",
            "describe job completes",
            "get events --field-selector involvedObject.name=completes " + EVENT_COLUMNS,
            "delete job completes",
            "get job completes",
        ),
        {"job": a_job("completes")},
    ),
    Story(
        "a Job with labels of its own",
        (
            "create -f @job",
            "get job labelled -o jsonpath={.metadata.labels}",
            "delete job labelled",
        ),
        {"job": a_job("labelled", meta=", labels: {team: a}")},
    ),
    Story(
        "a Job that fails",
        (
            "create -f @job",
            "wait --for=condition=Failed job/breaks --timeout=30s",
            "get job breaks -o json",
            "get job breaks",
            "delete job breaks",
        ),
        {"job": a_job("breaks", annotations=', sim.roadstead.dev/exit-code: "3"')},
    ),
    Story(
        "a suspended Job",
        (
            "create -f @job",
            "wait --for=condition=Suspended job/waits --timeout=30s",
            "get job waits -o json",
            "get job waits",
            """patch job waits --type=merge -p '{"spec":{"suspend":false}}'""",
            "wait --for=condition=Complete job/waits --timeout=30s",
            "get job waits -o json",
            "delete job waits",
        ),
        {"job": a_job("waits", "suspend: true")},
    ),
    Story(
        "an Indexed Job",
        (
            "create -f @job",
            "wait --for=condition=Complete job/indexed --timeout=30s",
            "get job indexed -o jsonpath='{.status.completedIndexes} {.status.succeeded}'",
            "get pods -l job-name=indexed --sort-by=.spec.hostname " + POD_COLUMNS,
            "delete job indexed",
        ),
        {"job": a_job("indexed", "completionMode: Indexed\n  completions: 3\n  parallelism: 2")},
    ),
    Story(
        "a Job that fits nowhere",
        (
            "create -f @job",
            "wait pod -l job-name=huge --for=condition=PodScheduled=false --timeout=30s",
            "get pods -l job-name=huge -o jsonpath='{.items[0].status}'",
            "get events --field-selector reason=FailedScheduling -o custom-columns=:.type,:.message",
            "delete job huge",
        ),
        {"job": a_job("huge").replace("250m", "900")},
    ),
    Story(
        "a Job managed by somebody else",
        (
            "create -f @job",
            "get job managed -o json",
            """patch job managed --type=merge -p '{"spec":{"managedBy":"other.example/x"}}'""",
            f"patch job managed --subresource=status --type=merge -p '{COMPLETE_ALONE}'",
            "delete job managed",
        ),
        {"job": a_job("managed", "managedBy: roadstead.dev/hub")},
    ),
    Story(
        "a Job that is cleaned up after its time",
        ("create -f @job", "wait --for=delete job/short --timeout=30s"),
        {"job": a_job("short", "ttlSecondsAfterFinished: 1")},
    ),
    Story(
        "a Job that misses its deadline",
        (
            "create -f @job",
            "wait --for=condition=Failed job/late --timeout=30s",
            "get job late -o jsonpath={.status}",
            "delete job late",
        ),
        {"job": a_job("late", "activeDeadlineSeconds: 1").replace('"1"', '"60"')},
    ),
    Story(
        "a Job that is tried again",
        (
            "create -f @job",
            "wait --for=condition=Failed job/again --timeout=50s",
            "get job again -o jsonpath={.status}",
            "delete job again",
        ),
        {"job": a_job("again", "backoffLimit: 1", ', sim.roadstead.dev/exit-code: "2"')},
    ),
    Story(
        "Jobs that are refused",
        (
            "create -f @name",
            "create -f @negative",
            "create -f @unknown",
            "create -f @restart",
            "create -f @namespace",
            "create -f @once",
            "create -f @once",
            """patch job once --type=merge -p '{"spec":{"completions":3}}'""",
            "delete job once",
        ),
        {
            "name": a_job("Bad_Name"),
            "negative": a_job("negative", "parallelism: -1"),
            "unknown": a_job("unknown", "paralelism: 1"),
            "restart": a_job("restart").replace("Never", "Always"),
            "namespace": a_job("elsewhere").replace("default", "nowhere"),
            "once": a_job("once"),
        },
    ),
)

OBJECTS = (
    Story(
        "a namespace comes and goes",
        (
            "create namespace visited",
            "get namespace visited -o json",
            "get serviceaccounts -n visited --no-headers",
            "create configmap held -n visited --from-literal=a=b",
            "delete namespace visited",
            "get configmap held -n visited",
            "get namespace visited",
        ),
    ),
    Story(
        "a ConfigMap is created, labelled, patched, deleted",
        (
            "create -f @map",
            "get configmap plain -o json",
            "get configmap plain",
            "label configmap plain team=a",
            "label configmap plain team=b",
            "label configmap plain team=b --overwrite",
            "annotate configmap plain note=c",
            "get configmap -l team=b",
            "get configmap -l team!=b,team",
            """patch configmap plain --type=json -p '[{"op":"replace","path":"/data/a","value":"z"}]'""",
            """patch configmap plain --type=json -p '[{"op":"test","path":"/data/a","value":"y"}]'""",
            """patch configmap plain --type=merge -p '{"data":{"a":null}}'""",
            "get configmap plain -o json",
            "delete configmap plain",
            "delete configmap plain",
        ),
        {"map": a_config_map("plain", "{a: b, c: d}")},
    ),
    Story(
        "a Secret",
        (
            "create secret generic hidden --from-literal=a=b",
            "get secret hidden -o json",
            "get secret hidden",
            "describe secret hidden",
            "delete secret hidden",
        ),
    ),
    Story(
        "a Deployment made on the command line",
        (
            "create deployment web --image=example.test/web:1",
            "rollout status deployment web --timeout=30s",
            "get deployment web",
            "get deployment web -o jsonpath={.spec}",
            "set image deployment/web web=example.test/web:2",
            "rollout status deployment web --timeout=30s",
            "get deployment web -o jsonpath={.spec.template.spec.containers}",
            "scale deployment web --replicas=3",
            "rollout status deployment web --timeout=30s",
            "get deployment web",
            "delete deployment web",
        ),
    ),
    Story(
        "client-side apply",
        (
            "apply -f @one",
            "apply -f @one",
            "apply -f @two",
            "get configmap applied -o jsonpath={.data}",
            "diff -f @one",
            "delete -f @one",
        ),
        {"one": a_config_map("applied", "{a: b, c: d}"), "two": a_config_map("applied", "{a: x}")},
    ),
    Story(
        "server-side apply between two managers",
        (
            "apply --server-side --field-manager=one -f @both",
            "apply --server-side --field-manager=two -f @first",
            "apply --server-side --field-manager=two --force-conflicts -f @first",
            fields_of("one"),
            fields_of("two"),
            fields_of("three"),
            "apply --server-side --field-manager=one -f @second",
            fields_of("one"),
            fields_of("two"),
            fields_of("three"),
            """patch configmap shared --type=merge --field-manager=three -p '{"data":{"b":"9"}}'""",
            fields_of("one"),
            fields_of("two"),
            fields_of("three"),
            "apply --server-side --field-manager=one -f @none",
            fields_of("one"),
            fields_of("two"),
            fields_of("three"),
            "delete configmap shared",
        ),
        {
            "both": a_config_map("shared", "{a: '1', b: '2'}"),
            "first": a_config_map("shared", "{a: '3'}"),
            "second": a_config_map("shared", "{b: '2'}"),
            "none": a_config_map("shared", "{c: '4'}"),
        },
    ),
    Story(
        "dry run changes nothing",
        (
            "create -f @map --dry-run=server -o jsonpath={.metadata.name}",
            "get configmap imagined",
        ),
        {"map": a_config_map("imagined", "{a: b}")},
    ),
    Story(
        "a finalizer holds an object",
        (
            "create -f @map",
            "delete configmap kept --wait=false",
            "get configmap kept -o json",
            """patch configmap kept --type=merge -p '{"metadata":{"finalizers":null}}'""",
            "get configmap kept",
        ),
        {
            "map": a_config_map("kept", "{a: b}").replace(
                "name: kept", "name: kept, finalizers: [example.test/hold]"
            )
        },
    ),
    Story(
        "what does not exist",
        (
            "get job nobody",
            "get nothings",
            "delete job nobody",
            "get configmap -n nowhere",
            "create -f @map -n nowhere",
            "get --raw /apis/none/v1",
            "get --raw /api/v1/namespaces/default/configmaps/nobody",
        ),
        {"map": a_config_map("lost", "{a: b}")},
    ),
    Story(
        "what the server says of itself",
        (
            "api-resources --api-group=batch",
            (
                "get namespaces default kube-node-lease kube-public kube-system"
                " --no-headers -o custom-columns=:.metadata.name"
            ),
        ),
    ),
)

CUSTOM = (
    Story(
        "a custom resource",
        (
            "create -f @definition",
            "wait --for=condition=Established crd/ships.example.test --timeout=20s",
            "get crd ships.example.test -o jsonpath='{.status.conditions[*].type} {.status.acceptedNames}'",
            "create -f @ship",
            "get ships",
            "get ship one -o json",
            "create -f @wrong",
            "create -f @pruned --validate=false",
            "get ship two -o jsonpath={.spec}",
            'patch ship one --subresource=status --type=merge -p \'{"status":{"phase":"Moored"}}\'',
            "get ships",
            "get ship one -o jsonpath='{.metadata.generation}'",
            "explain ship.spec",
            "delete ships --all",
            "delete crd ships.example.test",
        ),
        {
            "definition": """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ships.example.test}
spec:
  group: example.test
  scope: Namespaced
  names: {kind: Ship, listKind: ShipList, plural: ships, singular: ship}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns:
    - {name: Crew, type: integer, jsonPath: .spec.crew}
    - {name: Phase, type: string, jsonPath: .status.phase}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [crew]
            properties:
              crew: {type: integer, minimum: 1, maximum: 100}
              cargo: {type: string, enum: [grain, ore], default: grain}
          status:
            type: object
            properties: {phase: {type: string}}
""",
            "ship": "apiVersion: example.test/v1\nkind: Ship\nmetadata: {name: one}\nspec: {crew: 3}\n",
            "wrong": "apiVersion: example.test/v1\nkind: Ship\nmetadata: {name: bad}\n"
            "spec: {crew: 0, cargo: gold}\n",
            "pruned": "apiVersion: example.test/v1\nkind: Ship\nmetadata: {name: two}\n"
            "spec: {crew: 4, sails: 2}\n",
        },
    ),
)

STORIES = (*JOBS, *OBJECTS, *CUSTOM)
