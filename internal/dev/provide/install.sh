# Installs the Debian packages named as arguments, as root, without letting them
# start anything, now or at the next boot. dev starts the programs itself, on its
# own ports and data; the distribution's servers would only be in the way. Two
# switches do that, both undone at the end, even after a failure:
#   - policy-rc.d: every package asks it before it starts a service, with and
#     without systemd;
#   - createcluster.d: postgresql reads it before it creates the cluster "main". A
#     separate file there leaves the package's configuration alone.
# The services are then disabled, because a package enables them for the next boot
# whatever policy-rc.d says.
set -eu
export DEBIAN_FRONTEND=noninteractive

policy=/usr/sbin/policy-rc.d
before=$policy.before-lastseat # what was there
clusters=/etc/postgresql-common/createcluster.d

restore() {
	rm -f "$policy" "$clusters/zz-lastseat.conf"
	if [ -e "$before" ]; then mv "$before" "$policy"; fi
	rmdir "$clusters" /etc/postgresql-common 2>/dev/null || true # if we made them and they are empty
}
trap restore EXIT
trap 'exit 130' HUP INT TERM

# A policy that an earlier, killed installation left behind is not kept.
if [ -e "$policy" ] && ! grep -q lastseat "$policy"; then mv "$policy" "$before"; fi
printf '#!/bin/sh\n# Installed by lastseat: starts nothing.\nexit 101\n' >"$policy"
chmod 755 "$policy"
mkdir -p "$clusters"
echo 'create_main_cluster = false' >"$clusters/zz-lastseat.conf"

apt-get -q update
apt-get -q install -y --no-install-recommends --download-only "$@"
# Up to here, an interruption is harmless. From here on, it would leave packages
# half installed.
trap '' HUP INT TERM
apt-get -q install -y --no-install-recommends -o DPkg::Lock::Timeout=300 "$@"

for package in "$@"; do
	case $package in
	postgresql | redis-server | pgbouncer)
		update-rc.d "$package" disable || true # systemd's units too
		;;
	esac
done
