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
