# shellcheck shell=bash disable=SC2154
# Everything under $root/etc, filled from the templates in config/, and the links of /etc/slurm to it. Sourced.

make_configuration() {
  [ "$cgroups" != auto ] || { has_cgroups_v1 && cgroups=yes || cgroups=no; }
  echo "$cgroups" >"$run/cgroups"
  local file
  for file in "$here"/config/etc/*; do fill <"$file" >"$etc/${file##*/}"; done
  chmod 755 "$etc"/*.sh
  # slurmdbd refuses a file that others may read.
  chown slurm:slurm "$etc/slurmdbd.conf"
  chmod 600 "$etc/slurmdbd.conf"
  mkdir -p /etc/slurm
  for file in slurm gres cgroup slurmdbd; do ln -sfn "$etc/$file.conf" "/etc/slurm/$file.conf"; done
}

has_cgroups_v1() {
  local controller
  for controller in freezer memory devices; do [ -w "/sys/fs/cgroup/$controller/tasks" ] || return 1; done
}

# Puts the values where a template has @name@.
fill() {
  local process_tracking=linuxproc task_plugin=none preemption_signal=SlurmctldParameters=preempt_send_user_signal
  [ "$cgroups" != yes ] || { process_tracking=cgroup task_plugin=cgroup; }
  # The key was renamed after 22.05, and every command stops at a key that it does not know.
  ! grep -qs PreemptParameters /usr/lib/*/slurm*/libslurmfull*.so || preemption_signal=PreemptParameters=send_user_signal
  sed -e "s|@root@|$root|g; s|@apptainer@|$apptainer|g; s|@network@|$network|g; s|@database_port@|$database_port|g" \
    -e "s|@login_port@|$login_port|g; s|@jump_port@|$jump_port|g" \
    -e "s|@process_tracking@|$process_tracking|g; s|@task_plugin@|$task_plugin|g" \
    -e "s|@preemption_signal@|$preemption_signal|g; s|@more_nodes@|$(list_more_nodes)|"
}

# For sed, which takes \n for a new line.
list_more_nodes() {
  local last=$((4 + more_nodes))
  [ "$more_nodes" = 0 ] || printf '%s' "NodeName=node[5-$last] NodeAddr=$network.1[5-$last] Feature=cpuonly" \
    "\nPartitionName=wide Nodes=node[1-$last] MaxTime=20"
}

remove_configuration() {
  local file
  for file in /etc/slurm/*.conf; do
    case $(readlink "$file") in "$etc"/*) rm -f "$file" ;; esac
  done
}
