# Fetches Debian packages with all they depend on and unpacks them into a folder,
# without installing them. It needs no rights: apt-get keeps its state and its
# cache in the folder, and reads which packages the system has.
#
# usage: unpack.sh FOLDER NAME "PROGRAM..." PACKAGE...
#
# FOLDER/NAME/bin then starts the programs, which are paths in the packages. The
# folder NAME appears by a rename, so an interrupted start leaves nothing that
# looks complete.
set -eu
export LC_ALL=C
folder=$1 name=$2 programs=$3
shift 3

debs=$folder/apt/$name new=$folder/$name.new
rm -rf "$debs" "$new"
mkdir -p "$folder/apt/lists/partial" "$debs/partial" "$new/bin"
trap 'rm -rf "$debs" "$new"' EXIT

apt() {
	apt-get -q \
		-o Dir::State="$folder/apt" -o Dir::State::status=/var/lib/dpkg/status \
		-o Dir::Cache="$folder/apt" -o Dir::Cache::archives="$debs" \
		-o Debug::NoLocking=true -o APT::Sandbox::User= -o Acquire::Languages=none "$@"
}
apt update
apt install --yes --no-install-recommends --download-only "$@"
for deb in "$debs"/*.deb; do
	dpkg-deb --extract "$deb" "$new"
done

cd "$new"
# Some links are absolute, which would lead out of the folder.
find . -type l -lname '/*' | while read -r link; do
	target=$folder/$name$(readlink "$link")
	if [ -e "$new$(readlink "$link")" ]; then ln -sfn "$target" "$link"; fi
done
# The programs find their libraries by the scripts that start them.
libraries=
for dir in usr/lib/*-linux-* lib/*-linux-*; do
	if [ -d "$dir" ]; then libraries="$libraries\$root/$dir:"; fi
done
for pattern in $programs; do
	for program in $pattern; do
		if [ ! -e "$program" ]; then
			echo "there is no $program in $*" >&2
			exit 1
		fi
		script=bin/${program##*/}
		printf '#!/bin/sh\nroot=${0%%/*}/..\nLD_LIBRARY_PATH="%s$root/%s" exec "$root/%s" "$@"\n' \
			"$libraries" "${program%/*}" "$program" >"$script"
		chmod 755 "$script"
	done
done

rm -rf "${folder:?}/$name"
mv "$new" "$folder/$name"
