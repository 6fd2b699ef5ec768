"""Scripted operators of custom kinds: JobSets, jobs of Kubeflow, of Ray and of Spark, AppWrappers."""
