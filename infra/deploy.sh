#!/usr/bin/env bash
# Puts the platform or a tenant on AWS, and takes a tenant off it. Each may be run again after it broke off.
#
#   infra/deploy.sh platform FOLDER
#   infra/deploy.sh tenant FOLDER
#       FOLDER is what `switchyard platform add --aws` or `switchyard tenant add NAME --aws` wrote: the stack's parameters,
#       the values of its secrets, a tenant's items of the authorization server. It holds keys.
#   infra/deploy.sh settings TENANT STAGE [KEY=VALUE]...
#       What `switchyard tenant set|unset --aws` prints; without a value a setting is taken away. Without any it makes a
#       tenant known that an older release made.
#   infra/deploy.sh suspend|resume TENANT STAGE
#       What `switchyard tenant suspend|resume --aws` prints: nobody is let in any more, or everybody again.
#   infra/deploy.sh remove TENANT [--stage STAGE] [--platform-stack STACK] [--user NAME]...
#       What the tenant sealed can never be opened again; its tasks and chats stay in the tables, out of everybody's reach, until they
#       expire, or `switchyard tenant purge TENANT --aws` removes them.
#
# It wants credentials and a region of the account in the environment, and aws, sam, curl and jq. SWITCHYARD is the
# command `switchyard`, unless that is to be run by cargo.
set -euo pipefail

usage() {
  sed -n '2,19s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

fail() {
  echo "deploy.sh: $*" >&2
  exit 1
}

# The names become parts of secrets, keys and addresses.
check() { # what value pattern
  [[ $2 =~ ^$3$ ]] || fail "$1 cannot be '$2'"
}
check_names() {
  check 'a stage' "$stage" '[a-z][a-z0-9]*'
  check 'a stack' "$platform" '[A-Za-z0-9][A-Za-z0-9-]*'
}
check_tenant() {
  check 'a tenant' "$tenant" '[a-z][a-z0-9-]*'
  check_names
  stack=$platform-$tenant
  table=switchyard-$stage-identity
  tenants=switchyard-$stage-tenants
}

# The secrets of infra/tenant.yaml and of template.yaml, by the last part of their names.
tenant_secrets=(session-key sealing-keys horizon-sealing-keys oauth-providers)
platform_secrets=(idp-keys weather-sealing-keys airbnb-sealing-keys calendar-sealing-keys calendar-providers report-sealing-keys)

switchyard() {
  local command
  read -ra command <<<"${SWITCHYARD:-cargo run --quiet --}"
  "${command[@]}" "$@"
}

# An output of a stack; nothing where there is no such stack, or none that came into being.
output() { # stack name
  local found said=$scratch/said
  if ! found=$(aws cloudformation describe-stacks --stack-name "$1" --output text \
    --query "Stacks[0].Outputs[?OutputKey=='$2'].OutputValue" 2>"$said"); then
    grep -q 'does not exist' "$said" || fail "$(cat "$said")"
    return 0
  fi
  [ "$found" = None ] || echo "$found"
}

parameter() { jq --raw-output --arg name "$1" '.[$name]' "$files/parameters.yaml"; }

# A stack whose creation failed has been taken back, and stands in the way of the next one.
clear_failed() { # stack
  local status said=$scratch/said
  if ! status=$(aws cloudformation describe-stacks --stack-name "$1" --output text \
    --query 'Stacks[0].StackStatus' 2>"$said"); then
    grep -q 'does not exist' "$said" || fail "$(cat "$said")"
  elif [ "$status" = ROLLBACK_COMPLETE ]; then
    aws cloudformation delete-stack --stack-name "$1"
    aws cloudformation wait stack-delete-complete --stack-name "$1"
  fi
}

# Deploys a stack that is built; the same again changes nothing. What it makes is tagged, so that a bill can be read by tag.
deploy() { # build-folder stack parameters tag=value...
  local folder=$1 stack=$2 parameters=$3
  shift 3
  sam deploy --template "$folder/template.yaml" --stack-name "$stack" --capabilities CAPABILITY_IAM --resolve-s3 \
    --no-confirm-changeset --no-fail-on-empty-changeset --parameter-overrides "file://$parameters" --tags "$@"
}

# The value of a secret, by the standard input: arguments can be read by others.
put_secret() { # id
  aws secretsmanager put-secret-value --secret-id "$1" --secret-string file:///dev/stdin >/dev/null
}

call() { curl --fail-with-body --silent --show-error -H "authorization: Bearer $token" "$@"; }
register() { # card
  call -X POST "$registry/agents" -H 'content-type: application/json' -d "{\"cardUrl\":\"$1/.well-known/agent-card.json\"}"
  echo
}

platform() {
  local name type scope
  files=$1 stage=$(jq --raw-output .Stage "$1/parameters.yaml") platform=$(cat "$1/stack")
  check_names
  clear_failed "$platform"
  sam build --template template.yaml --build-dir .aws-sam/platform
  if [ -z "$(output "$platform" RegistryUrl)" ]; then
    # Should this fail, the tables have to go again.
    jq '. + {ProtectTables: "false"}' "$files/parameters.yaml" >"$scratch/parameters.yaml"
    deploy .aws-sam/platform "$platform" "$scratch/parameters.yaml" "stage=$stage"
  fi
  jq '. + {ProtectTables: "true"}' "$files/parameters.yaml" >"$scratch/parameters.yaml"
  deploy .aws-sam/platform "$platform" "$scratch/parameters.yaml" "stage=$stage"
  for name in "${platform_secrets[@]}"; do
    put_secret "switchyard/$stage/$name" <"$files/$name"
  done

  # What types of agents there are is said once, by the operator; then the agents that serve every tenant.
  registry=$(output "$platform" RegistryUrl)
  [ -n "$registry" ] || fail "the stack $platform says no address"
  token=$(switchyard token --key "$files/operator-key" --issuer switchyard-operator --for "$registry" --scope registry:admin)
  while read -r type scope; do
    call -X PUT "$registry/types/$type" -H 'content-type: application/json' -d "{\"scope\":\"$scope\"}"
    echo
  done <<<$'weather global\nairbnb global\ncalendar global\nreport global\nhorizon tenant'
  register "$(output "$platform" WeatherAgentUrl)"
  # Nor without a client at Google.
  [ "$(jq --raw-output .google.client_id "$files/calendar-providers")" = null ] || register "$(output "$platform" CalendarAgentUrl)"
  register "$(output "$platform" ReportAgentUrl)"
  # Without a server to ask it could only say so.
  [ "$(parameter McpUrl)" = null ] || register "$(output "$platform" AirbnbAgentUrl)"
  echo "The registry is at $registry"
  echo "Keep $files somewhere safe: with operator-key the registry is administered, and a later deployment wants all of it."
}

# The addresses are known only once the stack is there: until then these stand for them.
filled() { sed -e "s|https://base-url.invalid|$base|g" -e "s|https://idp-url.invalid|$idp|g" "$1"; }

# A token of the tenant's own for the registry.
tenant_token() { # file of the session key
  switchyard token --key "$1" --issuer "$base" --tenant "$tenant" --for "$registry" --scope registry:write
}

tenant() {
  local name item parameters
  files=$1
  tenant=$(parameter Tenant) stage=$(parameter Stage) platform=$(parameter PlatformStack)
  prefix=$(parameter TenantPrefix)
  parameters=$files/parameters.yaml
  # A folder that an older release wrote has none.
  if [ "$prefix" = null ]; then
    prefix=$tenant parameters=$scratch/parameters.yaml
    jq --arg prefix "$prefix" '. + {TenantPrefix: $prefix}' "$files/parameters.yaml" >"$parameters"
  fi
  check_tenant
  check 'a prefix' "$prefix" "$tenant(\.[0-9a-f]{8})?"
  present
  [ "$status" = removed ] || [ "${present:-$prefix}" = "$prefix" ] ||
    fail "there is a tenant $tenant already, which these keys are not of"
  registry=$(output "$platform" RegistryUrl)
  idp=$(output "$platform" IdpUrl)
  [ -n "$registry" ] && [ -n "$idp" ] || fail "there is no platform $platform here; is this its region?"
  clear_failed "$stack"
  sam build --template infra/tenant.yaml --build-dir .aws-sam/tenant
  deploy .aws-sam/tenant "$stack" "$parameters" "stage=$stage" "tenant=$tenant"
  base=$(output "$stack" BaseUrl)
  [ -n "$base" ] || fail "the stack $stack says no address"

  # What its functions sign and seal with.
  for name in "${tenant_secrets[@]}"; do
    filled "$files/$name" | put_secret "switchyard/$stage/$tenant/$name"
  done

  # Who it is at the authorization server, in the order of the files: the host, which makes it a tenant, comes last.
  for item in "$files"/identity-*.json; do
    filled "$item" | aws dynamodb put-item --table-name "$table" --item file:///dev/stdin
  done

  known

  # Its own agent in the registry.
  token=$(tenant_token "$files/session-key")
  register "$(output "$stack" HorizonAgentUrl)"
  echo "$tenant is at $base"
  echo "Keep $files somewhere safe: a later deployment wants all of it."
}

tenant_key() { echo "{\"pk\":{\"S\":\"$tenant\"},\"sk\":{\"S\":\"TENANT\"}}"; }

# What the tables say of the name: how it stands, and which prefix it has. Both are empty where they do not know it.
present() {
  aws dynamodb get-item --table-name "$tenants" --key "$(tenant_key)" --consistent-read --output json >"$scratch/record"
  status=$(jq --raw-output '.Item.status.S // empty' "$scratch/record")
  present=$(jq --raw-output --arg name "$tenant" 'if .Item then .Item.prefix.S // $name else empty end' "$scratch/record")
}

# The tables know the tenant by its name; what is set for one that they know already stays, but for one that was removed.
known() {
  local status_now='if_not_exists(#status, :active)' settings_now='if_not_exists(#settings, :none)'
  [ "$status" != removed ] || status_now=:active settings_now=:none
  aws dynamodb update-item --table-name "$tenants" --key "$(tenant_key)" \
    --update-expression "SET #status = $status_now, #settings = $settings_now, #prefix = :prefix" \
    --expression-attribute-names '{"#status":"status","#settings":"settings","#prefix":"prefix"}' \
    --expression-attribute-values "{\":active\":{\"S\":\"active\"},\":none\":{\"M\":{}},\":prefix\":{\"S\":\"$prefix\"}}"
}

# Says how a tenant stands that the tables know.
stands() { # status
  aws dynamodb update-item --table-name "$tenants" --key "$(tenant_key)" \
    --update-expression 'SET #status = :status' --condition-expression 'attribute_exists(pk) AND #status <> :removed' \
    --expression-attribute-names '{"#status":"status"}' \
    --expression-attribute-values "{\":status\":{\"S\":\"$1\"},\":removed\":{\"S\":\"removed\"}}"
}
hold() { # status tenant stage
  tenant=$2 stage=$3 platform=switchyard
  check_tenant
  stands "$1"
}
suspend() { hold suspended "$@"; }
resume() { hold active "$@"; }

settings() {
  local pair key value names='{"#settings":"settings"}' values='{}' sets='' removes=''
  (($# > 1)) || usage
  tenant=$1 stage=$2 platform=switchyard
  shift 2
  check_tenant
  (($# > 0)) || { present && prefix=${present:-$tenant} && known && return; }
  for pair in "$@"; do
    key=${pair%%=*} value=${pair#*=}
    check 'a setting' "$key" '[A-Za-z][A-Za-z0-9]*'
    names=$(jq --compact-output --arg key "$key" '.["#" + $key] = $key' <<<"$names")
    if [ -n "$value" ]; then
      sets+="${sets:+, }#settings.#$key = :$key"
      values=$(jq --compact-output --arg key "$key" --arg value "$value" '.[":" + $key] = {S: $value}' <<<"$values")
    else
      removes+="${removes:+, }#settings.#$key"
    fi
  done
  aws dynamodb update-item --table-name "$tenants" --key "$(tenant_key)" \
    --update-expression "${sets:+SET $sets }${removes:+REMOVE $removes}" --condition-expression 'attribute_exists(pk)' \
    --expression-attribute-names "$names" ${sets:+--expression-attribute-values "$values"}
}

# The agents of the tenant, page by page.
own_agents() {
  local cursor='' page
  while true; do
    page=$(call "$registry/agents?limit=100&disabled=true${cursor:+&cursor=$cursor}")
    jq --raw-output --arg tenant "$prefix" '.agents[] | select(.tenant == $tenant) | .id' <<<"$page"
    cursor=$(jq --raw-output '.nextCursor // empty' <<<"$page")
    [ -n "$cursor" ] || return 0
  done
}

remove() {
  local key=$scratch/key said=$scratch/said user name id
  tenant=$1 stage=prod platform=switchyard
  shift
  local users=()
  while (($# > 1)); do
    case $1 in
      --stage) stage=$2 ;;
      --platform-stack) platform=$2 ;;
      --user)
        check 'a user' "$2" '[a-z0-9._@+-]+'
        users+=("$2")
        ;;
      *) usage ;;
    esac
    shift 2
  done
  (($# == 0)) || usage
  check_tenant
  present
  # Of a tenant that an older release made there may be no record.
  prefix=${present:-$tenant}
  registry=$(output "$platform" RegistryUrl)
  base=$(output "$stack" BaseUrl)

  # Its agents leave the registry, by a token of its own; where the stack is gone, they have left it.
  if [ -n "$base" ]; then
    if aws secretsmanager get-secret-value --secret-id "switchyard/$stage/$tenant/session-key" \
      --query SecretString --output text >"$key" 2>"$said"; then
      token=$(tenant_token "$key")
      own_agents >"$scratch/agents"
      while read -r id; do
        call -X DELETE "$registry/agents/$id"
      done <"$scratch/agents"
    else
      # Without its key nothing more can be said in its name: an earlier run came as far as that.
      grep -q ResourceNotFoundException "$said" || fail "$(cat "$said")"
    fi
  fi

  # The authorization server knows it no longer.
  gone() { # pk sk
    aws dynamodb delete-item --table-name "$table" --key "{\"pk\":{\"S\":\"$1\"},\"sk\":{\"S\":\"$2\"}}"
  }
  gone "$prefix#client#host" CLIENT
  gone "$prefix#client#host" SESSIONS
  for user in ${users[@]+"${users[@]}"}; do
    gone "$prefix#user#$user" USER
    gone "$prefix#users" "$user"
  done
  # What it leaves is found by that (`switchyard tenant purge`); noted before the name is free for another one.
  jq --null-input --compact-output --arg name "$tenant" --arg gone "GONE#$prefix" '{pk: {S: $name}, sk: {S: $gone}}' |
    aws dynamodb put-item --table-name "$tenants" --item file:///dev/stdin
  # Its name is free; what lies below its prefix is nobody's until it expires.
  [ -z "$present" ] || aws dynamodb update-item --table-name "$tenants" --key "$(tenant_key)" \
    --update-expression 'SET #status = :removed REMOVE #settings' \
    --expression-attribute-names '{"#status":"status","#settings":"settings"}' \
    --expression-attribute-values '{":removed":{"S":"removed"}}'

  # At once, as a tenant of this name could not come back while they wait to be deleted.
  for name in "${tenant_secrets[@]}"; do
    aws secretsmanager delete-secret --secret-id "switchyard/$stage/$tenant/$name" --force-delete-without-recovery
  done
  sam delete --stack-name "$stack" --no-prompts
}

(($# > 1)) || usage
what=$1
shift
case $what in
  platform | tenant)
    (($# == 1)) || usage
    # Before the folder changes, as the path may be relative to it.
    folder=$(cd "$1" && pwd) || fail "there is no folder $1"
    set -- "$folder"
    ;;
  suspend | resume) (($# == 2)) || usage ;;
  remove | settings) ;;
  *) usage ;;
esac
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# Readable by nobody else: a key may lie in it.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$what" "$@"
