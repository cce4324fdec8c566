#!/bin/sh
# Makes an apt repository of debs: a folder that any web server can serve. Run it for each
# release with the folder of before, and copy the folder to the server.
#   sh make.sh FOLDER KEY DEB…
# KEY is a key of yours in gpg, by address or fingerprint. Its public half is written to
# FOLDER/candor.gpg. Needs apt-utils and gnupg. On the machines that install:
#   curl -fsSo /usr/share/keyrings/candor.gpg https://apt.example.com/candor.gpg
#   echo "deb [signed-by=/usr/share/keyrings/candor.gpg] https://apt.example.com stable main" >/etc/apt/sources.list.d/candor.list
#   apt update && apt install candor
set -eu
[ $# -ge 2 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
folder=$1 key=$2
shift 2
mkdir -p "$folder/pool/main"
for deb in "$@"; do cp "$deb" "$folder/pool/main/"; done
cd "$folder"
gpg --batch --yes --export --output candor.gpg "$key"
rm -rf dists.new
for arch in amd64 arm64; do
	mkdir -p "dists.new/stable/main/binary-$arch"
	apt-ftparchive --arch "$arch" packages pool/main >"dists.new/stable/main/binary-$arch/Packages"
	gzip -9nk "dists.new/stable/main/binary-$arch/Packages"
done
apt-ftparchive -o APT::FTPArchive::Release::Origin=Candor -o APT::FTPArchive::Release::Suite=stable \
	-o APT::FTPArchive::Release::Codename=stable -o APT::FTPArchive::Release::Components=main \
	-o "APT::FTPArchive::Release::Architectures=amd64 arm64" release dists.new/stable >Release.new
mv Release.new dists.new/stable/Release
gpg --batch --yes --local-user "$key" --clearsign --output dists.new/stable/InRelease dists.new/stable/Release
gpg --batch --yes --local-user "$key" --armor --detach-sign --output dists.new/stable/Release.gpg dists.new/stable/Release
rm -rf dists
mv dists.new dists
