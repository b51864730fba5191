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
# link; OUTWARD: interface of the default route; see network_rules too. Answers: taken (the block is in use).
network_make() {
  set -e
  # shellcheck disable=SC2016 # The inner shell expands it.
  nsenter --net=/run/netns/gw sh -ec '
    echo 1 >/proc/sys/net/ipv4/ip_forward
    for f in all default; do echo 1 >/proc/sys/net/ipv6/conf/$f/disable_ipv6 2>/dev/null || true; done'
  network_rules
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

# Sets the gateway's rules, and the way of redirected packets. GATEWAY_RULES, RULES_WITHOUT_PROXY: for nft, the second where
# the kernel cannot redirect; NAME_SERVER: address; PROXY_MARK. Answers: unproxied (why not).
network_rules() {
  if ! error=$(printf '%s\n' "$GATEWAY_RULES" | ip netns exec gw nft -f - 2>&1); then
    printf '%s\n' "$RULES_WITHOUT_PROXY" | ip netns exec gw nft -f -
    answer unproxied "$(one_line "$error")"
  fi
  ip -n gw link set lo up
  ip -n gw addr replace "$NAME_SERVER/32" dev lo
  ip -n gw rule del fwmark "$PROXY_MARK" 2>/dev/null || :
  ip -n gw rule add fwmark "$PROXY_MARK" lookup 100
  ip -n gw route replace local default dev lo table 100
}

# Replaces the rules of a gateway that an earlier driver made. HOST_RULES, and what network_rules needs. Links of a version
# that recognised modes by the names of links keep their names, and get the one that is looked for.
network_update() {
  set -e
  network_rules
  printf '%s\n' "$HOST_RULES" | nft -f -
  for old in $(ip -n gw -o link show type veth | sed -n 's/^[0-9]*: \([in][0-9]*\)@.*/\1/p'); do
    ip -n gw link property add dev "$old" altname "s${old#?}" 2>/dev/null || :
  done
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

# Makes a network namespace and joins it to the gateway.
network_prepare() { # NAME
  ip netns add "$1"
  network_attach "$1"
}

# Joins a network namespace, of a process or by its name, to the gateway. NEAR: name of the gateway's end, GROUP: its mode;
# GATEWAY, ADDRESS: of the two ends; FORMER_ADDRESSES: others that sockets in its memory are bound to, with blanks.
# With HOST_NAME and PING_GROUPS set as RESTORING says: names the machine in there and lets it ping.
network_attach() { # PID | NAME
  case $1 in
  *[!0-9]*) at=/run/netns/$1 ;;
  *) at=/proc/$1/ns/net ;;
  esac
  ip -n gw -batch - <<BATCH
link add name $NEAR group $GROUP address $MAC_GATEWAY type veth peer name eth0 address $MAC_INSIDE netns $1
addr add $GATEWAY/30 dev $NEAR
neigh replace $ADDRESS lladdr $MAC_INSIDE dev $NEAR nud permanent
link set $NEAR up
BATCH
  inside="link set lo up
addr add $ADDRESS/30 dev eth0
neigh replace $GATEWAY lladdr $MAC_GATEWAY dev eth0 nud permanent
link set eth0 up
route add default via $GATEWAY"
  # gVisor looks at one device, and with other runtimes programs that ask for the addresses of the machine need not see these.
  former_device=lo
  [ -z "$NETWORK_FIRST" ] || former_device=eth0
  for former in $FORMER_ADDRESSES; do
    inside="$inside
addr add $former/32 dev $former_device"
  done
  if [ -z "$RESTORING" ] || [ -n "$NETWORK_FIRST" ]; then
    nsenter "--net=$at" ip -batch - <<BATCH
$inside
BATCH
    return
  fi
  # CRIU makes an empty network namespace, with the defaults of the kernel.
  # shellcheck disable=SC2016 # The inner shell expands it.
  nsenter "--net=$at" "--uts=/proc/$1/ns/uts" sh -c '
    echo "$1" >/proc/sys/kernel/hostname
    echo "$2" >/proc/sys/net/ipv4/ping_group_range
    exec ip -batch -' sh "$HOST_NAME" "$PING_GROUPS" <<BATCH
$inside
BATCH
}

network_detach() { # LEASE; slow (RCU): for where nobody waits
  ip -n gw link del "s$1" 2>/dev/null || true
}

# Changes the mode of an instance: NEAR, GROUP as above. With a process of it, ends its connections that went another way:
# all but those of the host (HOST_ADDRESS) and of itself, and those that the egress process has with it (ADDRESS). Where the
# kernel cannot end them, they end with their next packet.
network_change() { # [PID]
  ip -n gw link set dev "$NEAR" group "$GROUP" || return
  [ -n "$1" ] || return 0
  {
    ip netns exec gw ss -K -Htun state connected dst "$ADDRESS" &
    nsenter "--net=/proc/$1/ns/net" ss -K -Htun state connected not dst "$HOST_ADDRESS" and not dst 127.0.0.0/8
    wait
  } >/dev/null 2>&1
  return 0
}

# Changes what the kernel forwards for an instance with a network policy. RULES: for nft; FALLBACK: for nft, where it cannot follow
# them; ENDED: which of its connections end, for ss. NEAR: the gateway's end, which carries nothing when neither can be set.
# Answers: unforwarded (why the rules are not in force).
network_forward_some() { # [PID]
  if ! error=$(printf '%s\n' "$RULES" | ip netns exec gw nft -f - 2>&1); then
    answer unforwarded "$(one_line "$error")"
    if ! printf '%s\n' "$FALLBACK" | ip netns exec gw nft -f -; then
      ip -n gw link set dev "$NEAR" group 0 2>/dev/null
      return 1
    fi
  fi
  [ -n "$1" ] && [ -n "$ENDED" ] || return 0
  nsenter "--net=/proc/$1/ns/net" ss -K -Htn state connected "$ENDED" >/dev/null 2>&1
  return 0
}

# Forgets what an earlier driver let the kernel forward: such connections stall.
network_forward_none() {
  ip netns exec gw nft list table inet sandboxes | awk '
    $1 == "chain" && $2 ~ /^forward_[0-9]/ { chains[$2] }
    $1 == "set" && $2 ~ /^(opened|sent|received|others)_[0-9]+$/ { sets[$2] }
    END {
      print "flush map inet sandboxes forwarded"
      for (name in chains) print "flush chain inet sandboxes " name
      for (name in chains) print "delete chain inet sandboxes " name
      for (name in sets) print "delete set inet sandboxes " name
    }' | ip netns exec gw nft -f -
}

# Prints the forwarded traffic. Answers: opened_LEASE, sent_LEASE, received_LEASE=ADDRESS/PORT:PACKETS:BYTES ... and
# others_LEASE=DIRECTION:PACKETS:BYTES ...
network_forwarded() { # LEASE ...
  ip netns exec gw nft list sets | tr , '\n' | awk -v "leases=$*" '
    BEGIN { for (n = split(leases, word, " "); n > 0; n--) asked[word[n]] }
    $1 == "set" {
      split($2, name, "_")
      wanted = name[1] ~ /^(opened|sent|received|others)$/ && name[2] in asked
      if (wanted) { printf "%s%s=", between, $2; between = "\n" }
    }
    wanted && match($0, /counter packets [0-9]+ bytes [0-9]+/) {
      split(substr($0, RSTART, RLENGTH), count, " ")
      sub(/.*\{/, "")
      printf "%s:%s:%s ", $2 == "." ? $1 "/" $3 : $1, count[3], count[5]
    }
    END { print "" }'
}

# Prints the number of refused packets by reason and veth pair. Answers: REASON=LEASE:PACKETS ... for each set of counters.
network_refusals() {
  ip netns exec gw nft list sets | tr , '\n' | awk '
    $1 == "set" { counted = sub("^refused_", "", $2); if (counted) printf "%s%s=", between, $2; between = "\n" }
    counted && match($0, /"s[0-9]+" counter packets [0-9]+/) {
      split(substr($0, RSTART + 2, RLENGTH - 2), word, /"? /)
      printf "%s:%s ", word[1], word[4]
    }
    END { print "" }'
}

# Prints the bytes that left to the outside, by address of the instance. Answers: sent=ADDRESS:BYTES ...
network_sent() {
  ip netns exec gw nft list set inet sandboxes sent | tr , '\n' | awk '
    BEGIN { printf "sent=" }
    match($0, /[0-9.]+ counter packets [0-9]+ bytes [0-9]+/) {
      split(substr($0, RSTART, RLENGTH), word, " ")
      printf "%s:%s ", word[1], word[6]
    }
    END { print "" }'
}

network_enforce() { # GROUP:LEASE ...
  for word in "$@"; do echo "link set dev s${word#*:} group ${word%%:*}"; done | ip -n gw -force -batch - 2>/dev/null
}
