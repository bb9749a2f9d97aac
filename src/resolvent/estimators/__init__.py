"""Estimators in scikit-learn's habits."""
