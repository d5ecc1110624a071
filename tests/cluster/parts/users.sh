# shellcheck shell=bash disable=SC2154
# The users of the cluster, with homes on the "shared file system" and keys for ssh. Sourced.

make_users() {
  local name uid=$first_uid
  mkdir -p "$root/home" "$ssh"
  make_key host_login1 host_gateway host_node
  for name in "${users[@]}"; do
    useradd --create-home --home-dir "$root/home/$name" --uid "$uid" --shell /bin/bash --comment "$mark" "$name"
    # A new account is locked with '!', and sshd without PAM then refuses even its keys.
    usermod --password '*' "$name"
    chmod 750 "$root/home/$name"
    make_key "$name" "inside_$name"
    give_keys "$name" "$root/home/$name/.ssh"
    uid=$((uid + 1))
  done
}

make_key() {
  local name
  for name; do ssh-keygen -q -t ed25519 -N '' -C "$name@$mark" -f "$ssh/$name"; done
}

# From outside to the login node with one key, from there to the compute nodes with another.
give_keys() {
  install -d -m 700 "$2"
  cat "$ssh/$1.pub" "$ssh/inside_$1.pub" >"$2/authorized_keys"
  mv "$ssh/inside_$1" "$2/id_ed25519"
  echo "$(IFS=,; echo "${nodes[*]}") $(cut -d' ' -f1,2 "$ssh/host_node.pub")" >"$2/known_hosts"
  chown -R "$1:$1" "$2"
}

remove_users() {
  local name pid
  for name in "${users[@]}"; do
    is_our_user "$name" || continue
    for pid in $(ps -o pid= -u "$name"); do kill -KILL "$pid" 2>/dev/null || true; done
    userdel --force "$name" 2>/dev/null
  done
}

is_our_user() { [ "$(getent passwd "$1" | cut -d: -f5)" = "$mark" ]; }
