"""Speed of resolvent beside its peers; `python -m benchmarks --help`, and README.md here."""
