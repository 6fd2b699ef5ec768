{{/* The pod: the same below a Deployment (PostgreSQL) and a StatefulSet (SQLite, volume `data`). */}}
{{- define "hub.pod" -}}
{{- $v := .Values -}}
{{- $scheme := include "hub.scheme" . | upper -}}
metadata:
  labels:
    {{- include "hub.selector" . | nindent 4 }}
    {{- with $v.podLabels }}{{ toYaml . | nindent 4 }}{{ end }}
  {{- with $v.podAnnotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ $v.serviceAccount.name }}
  automountServiceAccountToken: {{ eq $v.hubCluster.mode "inCluster" }}
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ $v.terminationGracePeriodSeconds }}
  {{- with $v.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with $v.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: RuntimeDefault}
  {{- if gt (int $v.replicas) 1 }}
  topologySpreadConstraints:
    {{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
    - maxSkew: 1
      topologyKey: {{ $key }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: {{- include "hub.selector" $ | nindent 10 }}
    {{- end }}
  {{- end }}
  {{- with $v.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $v.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $v.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: hub
      image: {{ include "hub.image" . }}
      imagePullPolicy: {{ $v.image.pullPolicy }}
      args:
        - --data=/var/lib/roadstead/data
        - --listen=0.0.0.0:{{ include "hub.port" . }}
        {{- if gt (int $v.replicas) 1 }}
        - --advertise={{ include "hub.scheme" . }}://$(POD_IP):{{ include "hub.port" . }}
        {{- end }}
        {{- if eq (include "hub.migration" .) "hook" }}
        - --no-migrate
        {{- end }}
        {{- if $v.adminToken.secret.name }}
        - --admin-token-file=/etc/roadstead/admin-token/token
        {{- end }}
        {{- if $v.tls.secret }}
        - --tls-cert=/etc/roadstead/tls/tls.crt
        - --tls-key=/etc/roadstead/tls/tls.key
        {{- end }}
        {{- if $v.tls.ca.secret }}
        - --tls-ca=/etc/roadstead/tls-ca/ca.crt
        {{- end }}
        {{- if $v.tls.clientCA.secret }}
        - --tls-client-ca=/etc/roadstead/client-ca/ca.crt
        {{- end }}
        {{- if $v.secretsKey.secret.name }}
        - --secrets-key=/etc/roadstead/secrets-key/key
        {{- end }}
        {{- if eq $v.hubCluster.mode "inCluster" }}
        - --hub-in-cluster
        {{- else if eq $v.hubCluster.mode "kubeconfig" }}
        - --hub-kubeconfig=/etc/roadstead/hub-cluster/kubeconfig
        {{- end }}
      env:
        {{- if gt (int $v.replicas) 1 }}
        - name: POD_IP  # where the other replicas reach this one
          valueFrom: {fieldRef: {fieldPath: status.podIP}}
        {{- end }}
        - name: ROADSTEAD_LOG_LEVEL
          value: {{ $v.logLevel }}
        {{- with $v.database.secret }}
        {{- if .name }}
        - name: ROADSTEAD_DATABASE
          valueFrom: {secretKeyRef: {name: {{ .name }}, key: {{ .key }}}}
        {{- end }}
        {{- end }}
        {{- with $v.database.passwordSecret }}
        {{- if .name }}
        - name: PGPASSWORD
          valueFrom: {secretKeyRef: {name: {{ .name }}, key: {{ .key }}}}
        {{- end }}
        {{- end }}
        {{- with $v.oidc }}
        {{- if .issuer }}
        - name: ROADSTEAD_OIDC_ISSUER
          value: {{ .issuer | quote }}
        - name: ROADSTEAD_OIDC_CLIENT_ID
          value: {{ required "oidc.issuer needs oidc.clientId" .clientId | quote }}
        - name: ROADSTEAD_OIDC_CLI_CLIENT_ID
          value: {{ .cliClientId | quote }}
        - name: ROADSTEAD_OIDC_USERNAME_CLAIM
          value: {{ .usernameClaim | quote }}
        - name: ROADSTEAD_OIDC_PAGE_URL
          value: {{ .pageUrl | quote }}
        {{- if .clientSecret.secret.name }}
        - name: ROADSTEAD_OIDC_CLIENT_SECRET_FILE
          value: /etc/roadstead/oidc-client/secret
        {{- end }}
        {{- if .ca.secret.name }}
        - name: ROADSTEAD_OIDC_CA
          value: /etc/roadstead/oidc-ca/ca.crt
        {{- end }}
        {{- end }}
        {{- end }}
        {{- if and $v.hubCluster.tokenAudience (ne $v.hubCluster.mode "none") }}
        - name: ROADSTEAD_TOKEN_REVIEWS_AUDIENCE
          value: {{ $v.hubCluster.tokenAudience | quote }}
        {{- end }}
        {{- if $v.hubCluster.showJobs }}
        - name: ROADSTEAD_BRIDGE_JOBS
          value: "On"
        {{- end }}
        {{- range $name, $value := $v.settings }}
        - name: {{ $name }}
          value: {{ $value | quote }}
        {{- end }}
        {{- with $v.extraEnv }}{{ toYaml . | nindent 8 }}{{ end }}
      ports:
        - name: {{ include "hub.scheme" . }}
          containerPort: {{ include "hub.port" . }}
      startupProbe:  # a schema that is brought up to date takes its time
        httpGet: {path: /livez, port: {{ include "hub.scheme" . }}, scheme: {{ $scheme }}}
        periodSeconds: 2
        failureThreshold: 90
      livenessProbe:
        httpGet: {path: /livez, port: {{ include "hub.scheme" . }}, scheme: {{ $scheme }}}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: {path: /readyz, port: {{ include "hub.scheme" . }}, scheme: {{ $scheme }}}
        periodSeconds: 5
        timeoutSeconds: 3
      {{- if gt (int $v.replicas) 1 }}
      lifecycle:
        preStop: {sleep: {seconds: 3}}  # until nobody is sent here any more; another replica answers
      {{- end }}
      resources: {{- toYaml $v.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      volumeMounts:
        - {name: data, mountPath: /var/lib/roadstead/data}
        - {name: tmp, mountPath: /tmp}
        {{- if $v.adminToken.secret.name }}
        - {name: admin-token, mountPath: /etc/roadstead/admin-token, readOnly: true}
        {{- end }}
        {{- if $v.tls.secret }}
        - {name: tls, mountPath: /etc/roadstead/tls, readOnly: true}
        {{- end }}
        {{- if $v.tls.ca.secret }}
        - {name: tls-ca, mountPath: /etc/roadstead/tls-ca, readOnly: true}
        {{- end }}
        {{- if $v.tls.clientCA.secret }}
        - {name: client-ca, mountPath: /etc/roadstead/client-ca, readOnly: true}
        {{- end }}
        {{- if $v.secretsKey.secret.name }}
        - {name: secrets-key, mountPath: /etc/roadstead/secrets-key, readOnly: true}
        {{- end }}
        {{- if and $v.oidc.issuer $v.oidc.clientSecret.secret.name }}
        - {name: oidc-client, mountPath: /etc/roadstead/oidc-client, readOnly: true}
        {{- end }}
        {{- if and $v.oidc.issuer $v.oidc.ca.secret.name }}
        - {name: oidc-ca, mountPath: /etc/roadstead/oidc-ca, readOnly: true}
        {{- end }}
        {{- if eq $v.hubCluster.mode "kubeconfig" }}
        - {name: hub-cluster, mountPath: /etc/roadstead/hub-cluster, readOnly: true}
        {{- end }}
        {{- with $v.extraVolumeMounts }}{{ toYaml . | nindent 8 }}{{ end }}
  volumes:
    - name: tmp
      emptyDir: {}
    {{- if $v.database.secret.name }}
    - name: data  # nothing that has to last: what lasts is in PostgreSQL
      emptyDir: {}
    {{- end }}
    {{- with $v.adminToken.secret }}
    {{- if .name }}
    - name: admin-token
      secret:
        secretName: {{ .name }}
        defaultMode: 0440
        items: [{key: {{ .key }}, path: token}]
    {{- end }}
    {{- end }}
    {{- with $v.tls.secret }}
    - name: tls
      secret: {secretName: {{ . }}, defaultMode: 0440}
    {{- end }}
    {{- with $v.tls.ca }}
    {{- if .secret }}
    - name: tls-ca
      secret:
        secretName: {{ .secret }}
        items: [{key: {{ .key }}, path: ca.crt}]
    {{- end }}
    {{- end }}
    {{- with $v.tls.clientCA }}
    {{- if .secret }}
    - name: client-ca
      secret:
        secretName: {{ .secret }}
        items: [{key: {{ .key }}, path: ca.crt}]
    {{- end }}
    {{- end }}
    {{- if $v.oidc.issuer }}
    {{- with $v.oidc.clientSecret.secret }}
    {{- if .name }}
    - name: oidc-client
      secret:
        secretName: {{ .name }}
        defaultMode: 0440
        items: [{key: {{ .key }}, path: secret}]
    {{- end }}
    {{- end }}
    {{- with $v.oidc.ca.secret }}
    {{- if .name }}
    - name: oidc-ca
      secret:
        secretName: {{ .name }}
        defaultMode: 0440
        items: [{key: {{ .key }}, path: ca.crt}]
    {{- end }}
    {{- end }}
    {{- end }}
    {{- with $v.secretsKey.secret }}
    {{- if .name }}
    - name: secrets-key
      secret:
        secretName: {{ .name }}
        defaultMode: 0440
        items: [{key: {{ .key }}, path: key}]
    {{- end }}
    {{- end }}
    {{- if eq $v.hubCluster.mode "kubeconfig" }}
    - name: hub-cluster
      secret:
        secretName: {{ $v.hubCluster.kubeconfig.secret.name }}
        defaultMode: 0440
        items: [{key: {{ $v.hubCluster.kubeconfig.secret.key }}, path: kubeconfig}]
    {{- end }}
    {{- with $v.extraVolumes }}{{ toYaml . | nindent 4 }}{{ end }}
{{- end -}}
