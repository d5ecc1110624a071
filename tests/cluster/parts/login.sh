# shellcheck shell=bash disable=SC2154
# Two sshd on loopback, the login node and the jump host before it, and the ssh_config to reach them. Sourced.

start_sshd() {
  mkdir -p /run/sshd
  as_host login1 /usr/sbin/sshd -f "$etc/sshd_login1" -E "$log/sshd.login1.log"
  as_host gateway /usr/sbin/sshd -f "$etc/sshd_gateway" -E "$log/sshd.gateway.log"
  fill <"$here/config/ssh_config" >"$ssh/config"
  {
    echo "[127.0.0.1]:$login_port $(cut -d' ' -f1,2 "$ssh/host_login1.pub")"
    echo "[127.0.0.1]:$jump_port $(cut -d' ' -f1,2 "$ssh/host_gateway.pub")"
  } >"$ssh/known_hosts"
}

# The sessions die with their users (users.sh).
stop_sshd() {
  stop_daemon "$run/sshd.login1.pid" sshd
  stop_daemon "$run/sshd.gateway.pid" sshd
}
