// Package kubernetes tests packaging/kubernetes. It is a module of its own, because the
// program needs nothing of Kubernetes.
package kubernetes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// cluster is what the example has of CloudNativePG's Cluster.
type cluster struct {
	APIVersion, Kind string
	Metadata         struct {
		Name, Namespace string
		Labels          map[string]string
	}
	Spec struct {
		Instances int
		Bootstrap struct {
			InitDB struct{ Database, Owner, Encoding, LocaleCollate, LocaleCType string }
		}
		PostgreSQL struct {
			Synchronous struct {
				Method, DataDurability string
				Number                 int
				FailoverQuorum         bool
			}
		}
		Storage struct{ Size string }
	}
}

// decode reads a document into the type of its kind. A field that the type doesn't have
// is an error.
func decode(kind string, text []byte) (any, error) {
	object, ok := map[string]any{
		"ConfigMap": &core.ConfigMap{}, "Service": &core.Service{}, "Deployment": &apps.Deployment{}, "Job": &batch.Job{},
		"PodDisruptionBudget": &policy.PodDisruptionBudget{}, "NetworkPolicy": &networking.NetworkPolicy{}, "Cluster": &cluster{},
	}[kind]
	if !ok {
		return nil, fmt.Errorf("there is no type for %s", kind)
	}
	return object, yaml.UnmarshalStrict(text, object)
}

func TestManifests(t *testing.T) {
	for overlay, kinds := range map[string]string{
		"base": "ConfigMap Deployment Deployment Job NetworkPolicy NetworkPolicy PodDisruptionBudget PodDisruptionBudget Service",
		"cloudnativepg": "Cluster ConfigMap Deployment Deployment Job NetworkPolicy NetworkPolicy " +
			"PodDisruptionBudget PodDisruptionBudget Service",
	} {
		made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).
			Run(filesys.MakeFsOnDisk(), "../../packaging/kubernetes/"+overlay)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		var settings map[string]string
		pods := map[string]core.PodTemplateSpec{}
		for _, r := range made.Resources() {
			got = append(got, r.GetKind())
			object, err := decode(r.GetKind(), []byte(r.MustYaml()))
			if err != nil {
				t.Errorf("%s: %s: %v", overlay, r.GetName(), err)
			}
			if _, err := decode(r.GetKind(), append([]byte("replcas: 3\n"), r.MustYaml()...)); err == nil {
				t.Errorf("%s: %s may have a field of another name", overlay, r.GetName())
			}
			switch o := object.(type) {
			case *core.ConfigMap:
				settings = o.Data
			case *cluster:
				// A promoted replica has what was acknowledged (D138).
				if s := o.Spec.PostgreSQL.Synchronous; s.DataDurability != "required" || s.Number < o.Spec.Instances-1 && !s.FailoverQuorum {
					t.Errorf("%s: %s may lose what was acknowledged: %+v", overlay, o.Metadata.Name, s)
				}
			case *networking.NetworkPolicy:
				wantDNS(t, o)
			case *apps.Deployment:
				pods[o.Name] = o.Spec.Template
				if c := o.Spec.Template.Spec.Containers[0]; c.ReadinessProbe == nil || c.LivenessProbe == nil || c.StartupProbe == nil {
					t.Errorf("%s: %s lacks a probe", overlay, o.Name)
				}
			case *batch.Job:
				pods[o.Name] = o.Spec.Template
			}
		}
		if slices.Sort(got); strings.Join(got, " ") != kinds {
			t.Errorf("%s makes %s, want %s", overlay, got, kinds)
		}
		wantFiles(t, overlay, settings, pods)
	}
}

// wantDNS fails the test unless a policy that closes the link-local addresses leaves them open
// for names alone.
func wantDNS(t *testing.T, policy *networking.NetworkPolicy) {
	t.Helper()
	const linkLocal = "169.254.0.0/16"
	closed, names := false, false
	for _, rule := range policy.Spec.Egress {
		for _, to := range rule.To {
			closed = closed || slices.Contains(to.IPBlock.Except, linkLocal)
			names = names || to.IPBlock.CIDR == linkLocal && len(rule.Ports) == 2 &&
				!slices.ContainsFunc(rule.Ports, func(p networking.NetworkPolicyPort) bool { return p.Port.IntValue() != 53 })
		}
	}
	if closed != names {
		t.Errorf("%s: link-local addresses are closed %t, names there open %t", policy.Name, closed, names)
	}
}

// wantFiles fails the test unless each pod has the folder of each file that a setting names.
func wantFiles(t *testing.T, overlay string, settings map[string]string, pods map[string]core.PodTemplateSpec) {
	t.Helper()
	files := 0
	for name, path := range settings {
		if !strings.HasSuffix(name, "_FILE") {
			continue
		}
		files++
		for pod, template := range pods {
			if !slices.ContainsFunc(template.Spec.Containers[0].VolumeMounts, func(m core.VolumeMount) bool {
				return m.ReadOnly && strings.HasPrefix(path, m.MountPath+"/")
			}) {
				t.Errorf("%s: %s has no folder for %s=%s", overlay, pod, name, path)
			}
		}
	}
	if files == 0 || len(pods) != 3 {
		t.Errorf("%s: %d settings name files, %d pods", overlay, files, len(pods))
	}
}
