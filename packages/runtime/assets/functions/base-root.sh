# shellcheck shell=dash
# The base root file system: a small skeleton around the host's /usr. Nothing of the host's /etc is taken but the program
# alternatives, public certificates and the time zone. The host's /usr/local stays out of sight: operators keep their own
# things there. Run in the directory of the store.

base_root_make() { # does nothing when it is there
  [ ! -d base ] || return 0
  set -e
  rm -rf base.new usr-mask mask
  mkdir -p base.new usr-mask
  cd base.new
  base_root_directories
  base_root_accounts
  base_root_settings
  chown -R 1000:1000 home/user
  cd ..
  base_root_mask
  mv base.new base
}

base_root_directories() {
  for name in bin sbin lib lib32 lib64 libx32; do
    if [ -L "/$name" ]; then
      cp -P "/$name" "$name"
    elif [ -d "/$name" ]; then
      ln -s "usr/$name" "$name"
    fi
  done
  mkdir -p etc/ssl/certs etc/profile.d usr proc sys dev run/lock opt srv mnt media home/user root tmp .sbx
  mkdir -p var/tmp var/lib var/log var/cache var/spool
  chmod 700 root
  chmod 1777 tmp var/tmp
  ln -s ../run var/run
  ln -s ../run/lock var/lock
}

base_root_accounts() {
cat >etc/passwd <<'E'
root:x:0:0:root:/root:/bin/bash
daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
bin:x:2:2:bin:/bin:/usr/sbin/nologin
sys:x:3:3:sys:/dev:/usr/sbin/nologin
man:x:6:12:man:/var/cache/man:/usr/sbin/nologin
mail:x:8:8:mail:/var/mail:/usr/sbin/nologin
www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin
_apt:x:42:65534::/nonexistent:/usr/sbin/nologin
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
user:x:1000:1000:user:/home/user:/bin/bash
E
cat >etc/group <<'E'
root:x:0:
daemon:x:1:
bin:x:2:
sys:x:3:
adm:x:4:
tty:x:5:
disk:x:6:
mail:x:8:
man:x:12:
sudo:x:27:
www-data:x:33:
shadow:x:42:
utmp:x:43:
staff:x:50:
users:x:100:
nogroup:x:65534:
user:x:1000:
E
cat >etc/shadow <<'E'
root:*:19000:0:99999:7:::
user:*:19000:0:99999:7:::
E
  chown 0:42 etc/shadow
  chmod 640 etc/shadow
}

base_root_settings() {
  printf '%s\n' 'passwd: files' 'group: files' 'shadow: files' 'hosts: files dns' 'networks: files' 'protocols: files' \
    'services: files' >etc/nsswitch.conf
  printf '%s\n' /bin/sh /bin/bash /usr/bin/bash >etc/shells
cat >etc/profile <<'E'
if [ "${EUID:-$(id -u)}" -eq 0 ]; then PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
else PATH=/usr/local/bin:/usr/bin:/bin; fi
export PATH
for part in /etc/profile.d/*.sh; do [ -r "$part" ] && . "$part"; done
unset part
E
  ln -s ../usr/lib/os-release etc/os-release
  ln -s /proc/self/mounts etc/mtab
  for file in debian_version services protocols mime.types ld.so.cache ld.so.conf localtime ssl/openssl.cnf \
    ssl/certs/ca-certificates.crt; do
    [ ! -f "/etc/$file" ] || cp -L "/etc/$file" "etc/$file"
  done
  for folder in /etc/alternatives /etc/ld.so.conf.d /etc/python3 /etc/python3.*; do
    [ ! -d "$folder" ] || cp -a "$folder" etc/
  done
  for file in /etc/skel/.bashrc /etc/skel/.profile; do
    [ -f "$file" ] || continue
    cp "$file" home/user/
    cp "$file" root/
  done
}

# An opaque "local" in a layer over /usr hides the host's. Only overlayfs itself can set the mark without extra tools.
base_root_mask() {
  mkdir -p mask/lower/local mask/work mask/merged
  mount -t overlay overlay -o lowerdir=mask/lower,upperdir=usr-mask,workdir=mask/work mask/merged
  rmdir mask/merged/local
  for name in bin etc games include lib sbin share src; do mkdir -p "mask/merged/local/$name"; done
  ln -s share/man mask/merged/local/man
  umount mask/merged
  rm -rf mask
}
