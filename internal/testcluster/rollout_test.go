package testcluster_test

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestDeploymentRollsOutStopsAtABrokenImageAndComesBack(t *testing.T) {
	t.Parallel()
	c := setup(t)
	web := deployment("web", 2, podTemplate("web", "nginx:1"))
	web.Spec.ProgressDeadlineSeconds = new(int32(1))
	c.createDeployment(t, web)
	c.eventually(t, c.rolledOut("web"))

	c.setImage(t, "web", "nginx:broken")
	c.eventually(t, func(ctx context.Context) (bool, any, error) {
		d, err := c.AppsV1().Deployments(c.namespace).Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return false, nil, err
		}
		stuck := false
		for _, condition := range d.Status.Conditions {
			stuck = stuck || condition.Reason == "ProgressDeadlineExceeded"
		}
		return stuck && d.Status.AvailableReplicas == 2, d.Status, nil
	})

	c.setImage(t, "web", "nginx:1")
	c.eventually(t, c.rolledOut("web"))
}

func TestStatefulSetGetsVolumesAndAnAddress(t *testing.T) {
	t.Parallel()
	c := setup(t)
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(2)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}},
			Template: podTemplate("db", "postgres:18"),
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: "data"},
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources: corev1.VolumeResourceRequirements{
						Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
					},
				},
			}},
		},
	}
	if _, err := c.AppsV1().StatefulSets(c.namespace).Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeLoadBalancer,
			Selector: map[string]string{"app": "db"},
			Ports:    []corev1.ServicePort{{Port: 5432}},
		},
	}
	if _, err := c.CoreV1().Services(c.namespace).Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.eventually(t, func(ctx context.Context) (bool, any, error) {
		s, err := c.AppsV1().StatefulSets(c.namespace).Get(ctx, "db", metav1.GetOptions{})
		return err == nil && s.Status.AvailableReplicas == 2, s.Status, err
	})
	c.eventually(t, func(ctx context.Context) (bool, any, error) {
		s, err := c.CoreV1().Services(c.namespace).Get(ctx, "db", metav1.GetOptions{})
		return err == nil && len(s.Status.LoadBalancer.Ingress) == 1, s.Status, err
	})
}

// rolledOut asks whether every replica of a Deployment is of its newest template and available.
func (c cluster) rolledOut(name string) func(context.Context) (bool, any, error) {
	return func(ctx context.Context) (bool, any, error) {
		d, err := c.AppsV1().Deployments(c.namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, nil, err
		}
		s, want := d.Status, *d.Spec.Replicas
		done := s.ObservedGeneration == d.Generation && s.Replicas == want && s.UpdatedReplicas == want && s.AvailableReplicas == want
		return done, s, nil
	}
}

func (c cluster) setImage(t *testing.T, deployment, image string) {
	t.Helper()
	patch := []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"` + image + `"}]}}}}`)
	_, err := c.AppsV1().Deployments(c.namespace).Patch(t.Context(), deployment, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}
