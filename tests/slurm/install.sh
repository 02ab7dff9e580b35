#!/usr/bin/env bash
# Installs what the tests in this folder need: Slurm and munge from the distribution. Needs root.
# The tests start daemons of their own, so the distribution's are not wanted: what this installation
# starts is stopped again, and a service that was here before is left as it was.
set -euo pipefail

missing=()
for package in munge slurmctld slurmd slurm-client slurm-wlm-basic-plugins; do
    status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
    [[ $status == installed ]] || missing+=("$package")
done
if [[ ${#missing[@]} -eq 0 ]]; then
    exit 0
fi
if [[ $(id -u) -ne 0 ]]; then
    echo "The tests of Slurm will be skipped, since these packages are not installed: ${missing[*]}." >&2
    exit 0
fi

apt-get update
DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "${missing[@]}"

for service in munge slurmctld slurmd; do
    [[ " ${missing[*]} " == *" $service "* ]] || continue
    if [[ -d /run/systemd/system ]]; then
        systemctl disable --now "$service"
    else
        # Where policy-rc.d has kept it from starting, there is nothing to stop.
        service "$service" stop >/dev/null || true
        update-rc.d "$service" disable
    fi
done
