{{/* Name of the workload, the Service and the cluster's roles. */}}
{{- define "hub.name" -}}
{{- .Values.nameOverride | default .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "hub.selector" -}}
app.kubernetes.io/name: roadstead-hub
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "hub.labels" -}}
{{ include "hub.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: roadstead
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "hub.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* "https" or "http", as the hub itself serves; also the name of its port. */}}
{{- define "hub.scheme" -}}
{{- if .Values.tls.secret -}}https{{- else -}}http{{- end -}}
{{- end -}}

{{- define "hub.port" -}}
{{- if .Values.tls.secret -}}8443{{- else -}}8080{{- end -}}
{{- end -}}

{{/* Where the hub is reached from outside, as far as the values say. */}}
{{- define "hub.url" -}}
{{- if .Values.ingress.enabled -}}
{{ ternary "https" "http" (ne .Values.ingress.tlsSecret "") }}://{{ .Values.ingress.host }}
{{- else -}}
{{ include "hub.scheme" . }}://{{ include "hub.name" . }}.{{ .Release.Namespace }}.svc:{{ .Values.service.port }}
{{- end -}}
{{- end -}}

{{/* Who brings the schema up to date: "hook" or "start". */}}
{{- define "hub.migration" -}}
{{- if and .Values.database.secret.name (eq .Values.database.migration "hook") -}}hook{{- else -}}start{{- end -}}
{{- end -}}

{{/* Refuses what the schema can not see: one value that makes no sense beside another. */}}
{{- define "hub.check" -}}
{{- $v := .Values -}}
{{- if and (gt (int $v.replicas) 1) (not $v.database.secret.name) -}}
{{- fail "replicas: more than one hub needs PostgreSQL: set database.secret.name, or replicas to 1" -}}
{{- end -}}
{{- if and $v.database.secret.name (not $v.adminToken.secret.name) -}}
{{- fail "adminToken.secret.name: hubs on PostgreSQL keep no file of their own: make a Secret with the administrator's token" -}}
{{- end -}}
{{- if and (eq $v.hubCluster.mode "kubeconfig") (not $v.hubCluster.kubeconfig.secret.name) -}}
{{- fail "hubCluster.kubeconfig.secret.name: mode kubeconfig needs the Secret that holds it" -}}
{{- end -}}
{{- if and $v.tls.certificate.create (not $v.tls.secret) -}}
{{- fail "tls.secret: say into which Secret cert-manager writes the certificate" -}}
{{- end -}}
{{- if and $v.tls.certificate.create (not $v.tls.certificate.issuer.name) -}}
{{- fail "tls.certificate.issuer.name: say which issuer of cert-manager signs" -}}
{{- end -}}
{{- if and $v.tls.clientCA.secret (not $v.tls.secret) -}}
{{- fail "tls.clientCA.secret: certificates of clients need tls.secret, the hub's own" -}}
{{- end -}}
{{- if and $v.ingress.enabled (not $v.ingress.host) -}}
{{- fail "ingress.host: an Ingress for every host would take other people's requests" -}}
{{- end -}}
{{- if and $v.serviceMonitor.enabled (not $v.serviceMonitor.tokenSecret.name) -}}
{{- fail "serviceMonitor.tokenSecret.name: /metrics asks for a viewer's token: roadstead tokens issue prometheus --role viewer" -}}
{{- end -}}
{{- end -}}
