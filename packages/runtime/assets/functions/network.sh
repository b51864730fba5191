# shellcheck shell=dash
# One gateway namespace `gw` per driver: a veth pair (/30) from it to each instance, and one to the host. LINK is the
# host's end, TABLE the host's nft table.
#
# Every veth pair joins two ends and nothing else, so its ends can have the same hardware addresses as any other's. Both
# know each other from the start: an address request that gets lost on a fresh pair is only repeated after a second.
MAC_GATEWAY=02:00:00:00:00:01
MAC_INSIDE=02:00:00:00:00:02
MAC_HOST=02:00:00:00:00:03
MAC_UPLINK=02:00:00:00:00:04

# Makes the host's link, the gateway and all rules. BLOCK: addresses of instances; HOST_ADDRESS, GATEWAY_ADDRESS: of the
# link; GATEWAY_RULES, HOST_RULES: for nft; OUTWARD: interface of the default route. Answers: taken (the block is in use).
network_make() {
  set -e
  # shellcheck disable=SC2016 # The inner shell expands it.
  printf '%s\n' "$GATEWAY_RULES" | nsenter --net=/run/netns/gw sh -ec '
    echo 1 >/proc/sys/net/ipv4/ip_forward
    for f in all default; do echo 1 >/proc/sys/net/ipv6/conf/$f/disable_ipv6 2>/dev/null || true; done
    nft -f -'
  network_claim ip link add "$LINK" address $MAC_HOST type veth peer name uplink address $MAC_UPLINK netns gw
  trap 'test $? = 0 || ip link del "$LINK"' EXIT
  ip addr add "$HOST_ADDRESS/30" dev "$LINK"
  ip link set "$LINK" up
  ip -n gw -batch - <<BATCH
link set lo up
addr add $GATEWAY_ADDRESS/30 dev uplink
link set uplink up
route add default via $HOST_ADDRESS
neigh replace $HOST_ADDRESS lladdr $MAC_HOST dev uplink nud permanent
BATCH
  ip neigh replace "$GATEWAY_ADDRESS" lladdr $MAC_UPLINK dev "$LINK" nud permanent
  network_claim ip route add "$BLOCK" via "$GATEWAY_ADDRESS"
  printf '%s\n' "$HOST_RULES" | nft -f -
  network_forward "$LINK"
  [ -z "$OUTWARD" ] || network_forward "$OUTWARD"
}

network_claim() { # COMMAND ...: fails; answers `taken` when there is already what it would make
  if error=$("$@" 2>&1); then return; fi
  case $error in
  *'File exists'*) answer taken yes ;;
  esac
  echo "$error" >&2
  return 1
}

network_forward() { # INTERFACE
  echo 1 >"/proc/sys/net/ipv4/conf/$1/forwarding"
}

# Takes away what stands on the host. FORWARDED: interface whose forwarding goes off with the last driver that needs it.
network_remove() {
  ip link del "$LINK" 2>/dev/null
  nft delete table inet "$TABLE" 2>/dev/null
  [ -n "$FORWARDED" ] || return 0
  nft list tables | grep -q ' svc_' || echo 0 >"/proc/sys/net/ipv4/conf/$FORWARDED/forwarding"
  return 0
}

# Joins the namespace of a process to the gateway. NEAR: name of the gateway's end; GATEWAY, ADDRESS: of the two ends.
# With HOST_NAME and PING_GROUPS set as RESTORING says: names the machine in there and lets it ping.
network_attach() { # PID
  ip -n gw -batch - <<BATCH
link add name $NEAR address $MAC_GATEWAY type veth peer name eth0 address $MAC_INSIDE netns $1
addr add $GATEWAY/30 dev $NEAR
neigh replace $ADDRESS lladdr $MAC_INSIDE dev $NEAR nud permanent
link set $NEAR up
BATCH
  inside="link set lo up
addr add $ADDRESS/30 dev eth0
neigh replace $GATEWAY lladdr $MAC_GATEWAY dev eth0 nud permanent
link set eth0 up
route add default via $GATEWAY"
  if [ -z "$RESTORING" ]; then
    nsenter "--net=/proc/$1/ns/net" ip -batch - <<BATCH
$inside
BATCH
    return
  fi
  # CRIU makes an empty network namespace, with the defaults of the kernel.
  # shellcheck disable=SC2016 # The inner shell expands it.
  nsenter "--net=/proc/$1/ns/net" "--uts=/proc/$1/ns/uts" sh -c '
    echo "$1" >/proc/sys/kernel/hostname
    echo "$2" >/proc/sys/net/ipv4/ping_group_range
    exec ip -batch -' sh "$HOST_NAME" "$PING_GROUPS" <<BATCH
$inside
BATCH
}

network_detach() { # LEASE; slow (RCU): for where nobody waits
  ip -n gw link del "i$1" 2>/dev/null || ip -n gw link del "n$1" 2>/dev/null || true
}
