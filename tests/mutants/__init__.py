"""How well the checks tell right from wrong: the reference solution with one small change, many times over.

`scope` says what is changed and which exercises are then asked, `expressions` and `statements` hold the
changes, `make` turns them into mutants, `bench` grades those, and `outcome` sorts them: killed (marks were
lost), equivalent (listed in ``equivalent.toml`` with its reason) or survived, which is a wrong pass.
"""
