{{/* What the second gate goes by: policy.*, with the agent's own defaults where a value is empty. */}}
{{- define "agent.rule" -}}
{{- $defaults := dict
  "kinds" "*"
  "podSecurity" "baseline"
  "podSecurityLevels" ""
  "namespaces" "*"
  "deniedNamespaces" "kube-*,roadstead,roadstead-system"
  "acceptedNamespaces" ""
  "consent" "Enforce"
  "serviceAccounts" "default"
  "schedulers" "default-scheduler"
  "priorityClasses" "*"
  "tokenAudiences" ""
  "fields" "hostAliases,runtimeClassName,automountServiceAccountToken" -}}
{{- get .root.Values.policy .name | default (get $defaults .name) -}}
{{- end -}}

{{/* A list by comma as a list of CEL. */}}
{{- define "agent.cel" -}}
{{- $parts := list -}}
{{- range splitList "," . -}}
{{- with trim . -}}{{- $parts = append $parts (quote .) -}}{{- end -}}
{{- end -}}
[{{ join ", " $parts }}]
{{- end -}}

{{/* Patterns by comma, of `*` and `?`, as one regular expression, quoted for CEL. */}}
{{- define "agent.regex" -}}
{{- $parts := list -}}
{{- range splitList "," . -}}
{{- with trim . -}}
{{- $parts = append $parts (regexQuoteMeta . | replace "\\*" ".*" | replace "\\?" ".") -}}
{{- end -}}
{{- end -}}
{{- printf "^(%s)$" (join "|" $parts) | toJson -}}
{{- end -}}

{{/* The groups that patterns of GROUP/KIND name in full. */}}
{{- define "agent.groups" -}}
{{- $parts := list -}}
{{- range splitList "," . -}}
{{- $group := trim . | splitList "/" | first -}}
{{- if not (or (contains "*" $group) (contains "?" $group)) -}}
{{- $parts = append $parts (quote $group) -}}
{{- end -}}
{{- end -}}
[{{ $parts | uniq | join ", " }}]
{{- end -}}

{{/* NAMESPACE=LEVEL by comma as a map of CEL. */}}
{{- define "agent.levels" -}}
{{- $parts := list -}}
{{- range splitList "," . -}}
{{- with trim . -}}
{{- $pair := splitList "=" . -}}
{{- $parts = append $parts (printf "%s: %s" (first $pair | quote) (last $pair | quote)) -}}
{{- end -}}
{{- end -}}
{ {{- join ", " $parts -}} }
{{- end -}}

{{/* The built-in kinds but Job that jobs run as, GROUP/VERSION/KIND by comma. */}}
{{- define "agent.dispatched" -}}
jobset.x-k8s.io/v1alpha2/JobSet,
{{- range list "JAXJob" "PaddleJob" "PyTorchJob" "TFJob" "XGBoostJob" -}}kubeflow.org/v1/{{ . }},{{- end -}}
kubeflow.org/v2beta1/MPIJob,leaderworkerset.x-k8s.io/v1/LeaderWorkerSet,
{{- range list "RayCluster" "RayJob" "RayService" -}}ray.io/v1/{{ . }},{{- end -}}
sparkoperator.k8s.io/v1beta2/SparkApplication,workload.codeflare.dev/v1beta2/AppWrapper
{{- end -}}

{{/* The pod templates in the spec (its path is given) of each built-in kind that jobs run as, as a CEL list. */}}
{{- define "agent.templates" -}}
{{- $spec := . -}}
request.kind.kind == 'JobSet' ? (has({{ $spec }}.replicatedJobs) ?
{{ $spec }}.replicatedJobs.map(r, r.template.spec.template) : []) :
{{- range $kind, $field := dict "JAXJob" "jaxReplicaSpecs" "MPIJob" "mpiReplicaSpecs" "PaddleJob" "paddleReplicaSpecs" "PyTorchJob" "pytorchReplicaSpecs" "TFJob" "tfReplicaSpecs" "XGBoostJob" "xgbReplicaSpecs" }}
{{- $roles := printf "%s.%s" $spec $field }}
request.kind.kind == '{{ $kind }}' ? (has({{ $roles }}) ?
{{ $roles }}.filter(r, has({{ $roles }}[r].template))
.map(r, {{ $roles }}[r].template) : []) :
{{- end }}
{{- range $kind, $fields := dict "LeaderWorkerSet" (list "leaderWorkerTemplate.leaderTemplate" "leaderWorkerTemplate.workerTemplate") "SparkApplication" (list "driver.template" "executor.template") }}
request.kind.kind == '{{ $kind }}' ?
{{- range $at, $field := $fields }}
{{ if $at }}+ {{ end }}(has({{ $spec }}.{{ (split "." $field)._0 }}) &&
has({{ $spec }}.{{ $field }}) ?
[{{ $spec }}.{{ $field }}] : [])
{{- end }} :
{{- end }}
request.kind.kind == 'RayCluster' ?
{{ include "agent.rayTemplates" $spec }} :
request.kind.kind == 'RayService' ? (has({{ $spec }}.rayClusterConfig) ?
{{ include "agent.rayTemplates" (printf "%s.rayClusterConfig" $spec) }} : []) :
request.kind.kind == 'RayJob' ? (has({{ $spec }}.rayClusterSpec) ?
{{ include "agent.rayTemplates" (printf "%s.rayClusterSpec" $spec) }} : []) +
(has({{ $spec }}.submitterPodTemplate) ? [{{ $spec }}.submitterPodTemplate] : []) :
{{- end -}}

{{/* Those of the cluster in a Ray object. */}}
{{- define "agent.rayTemplates" -}}
(has({{ . }}.headGroupSpec) &&
has({{ . }}.headGroupSpec.template) ?
[{{ . }}.headGroupSpec.template] : []) +
(has({{ . }}.workerGroupSpecs) ?
{{ . }}.workerGroupSpecs.filter(w, has(w.template))
.map(w, w.template) : [])
{{- end -}}
