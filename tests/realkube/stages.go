package main

import (
	_ "embed"
	"strings"

	nodeready "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	nodelease "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
)

// podStages is how the fake kubelets treat pods: as the simulated cluster treats its own.
//
//go:embed stages.yaml
var podStages string

// kubeletStages is KWOK's configuration: its own stages for nodes, ours for pods.
func kubeletStages() []byte {
	return []byte(strings.Join(
		[]string{nodeready.DefaultNodeInit, nodelease.DefaultNodeHeartbeatWithLease, podStages}, "\n---\n"))
}
