#!/usr/bin/env bash
# Puts the platform or a tenant on AWS, upgrades both, and takes them off it. Each may be run again after it broke off.
#
#   infra/deploy.sh platform FOLDER
#   infra/deploy.sh tenant FOLDER
#       FOLDER is what `switchyard platform add --aws` or `switchyard tenant add NAME --aws` wrote: the stack's parameters,
#       the values of its secrets, a tenant's items of the authorization server. It holds keys.
#   infra/deploy.sh upgrade FOLDER [--plan]
#       Builds this release once and deploys it: the platform of FOLDER, then every tenant's stack over it. All parameters
#       stay. With --plan it says what would change, and changes nothing.
#   infra/deploy.sh settings TENANT STAGE [KEY=VALUE]...
#       What `switchyard tenant set|unset --aws` prints; without a value a setting is taken away. Without any it makes a
#       tenant known that an older release made.
#   infra/deploy.sh suspend|resume TENANT STAGE
#       What `switchyard tenant suspend|resume --aws` prints: nobody is let in any more, or everybody again.
#   infra/deploy.sh remove TENANT [--stage STAGE] [--platform-stack STACK] [--user NAME]...
#       What the tenant sealed can never be opened again; its tasks and chats stay in the tables, out of everybody's reach, until they
#       expire, or `switchyard tenant purge TENANT --aws` removes them.
#   infra/deploy.sh remove-platform [--stage STAGE] [--platform-stack STACK] [--with-data]
#       Takes the platform's stack away, once no tenant is over it. Its tables and secrets stay, unless their data is to go too.
#   infra/deploy.sh steps platform|tenant|upgrade|remove|remove-platform
#       Says what each of these does, step by step.
#
# It wants credentials and a region of the account in the environment, and aws, sam, curl and jq. SWITCHYARD is the
# command `switchyard`, unless that is to be run by cargo.
set -euo pipefail

usage() {
  sed -n '2,26s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

fail() {
  echo "deploy.sh: $*" >&2
  exit 1
}

# What each command does, in this order: a function of this script, what it does, and what helps where it fails.
steps_of() { # command
  case $1 in
    platform)
      cat <<'STEPS'
ready_platform|Look at the tools, the account, its region and the stack|
build_platform|Build the platform's functions, which takes half an hour the first time|`cargo lambda --version` must answer; docs/deploy.md says how it is installed
create_platform|Create the stack, whose tables a failure takes back|`aws cloudformation describe-stack-events` of the stack says what AWS refused
protect_platform|Protect the tables against deletion|`aws cloudformation describe-stack-events` of the stack says what AWS refused
fill_platform|Put the keys into the platform's secrets|the credentials need secretsmanager:PutSecretValue
declare_types|Declare the types of agents in the registry|a domain answers only once its DNS name points at the stack's output DomainTarget; `aws logs tail` of the registry says more
register_platform|Register the platform's agents|the agent's card must be readable at its address; `aws logs tail` of the registry says more
STEPS
      ;;
    tenant)
      cat <<'STEPS'
ready_tenant|Look at the tools, the account, its region, the platform and the stack|
build_tenant|Build the tenant's functions|`cargo lambda --version` must answer; docs/deploy.md says how it is installed
deploy_tenant|Deploy the tenant's stack|`aws cloudformation describe-stack-events` of the stack says what AWS refused
fill_tenant|Put the keys into the tenant's secrets|the credentials need secretsmanager:PutSecretValue
identify_tenant|Make the tenant known to the authorization server and the tables|the credentials need dynamodb:PutItem and dynamodb:UpdateItem
register_tenant|Register the tenant's own agent|a domain answers only once its DNS name points at the stack's output DomainTarget; `aws logs tail` of the registry says more
STEPS
      ;;
    upgrade)
      cat <<'STEPS'
ready_upgrade|Look at the tools, the account, its region, the platform and who is over it|
build_all|Build every function of this release|`cargo lambda --version` must answer; docs/deploy.md says how it is installed
package_all|Bring them to AWS, once for all tenants|the credentials need the bucket of sam: aws-sam-cli-managed-default
upgrade_platform|Deploy the platform's stack|`aws cloudformation describe-stack-events` of the stack says what AWS refused; it has taken the change back
fill_new|Put keys into secrets that are new|the credentials need secretsmanager:GetSecretValue and PutSecretValue
declare_types|Declare the types of agents in the registry|`aws logs tail` of the registry says more
register_platform|Register the platform's agents|the agent's card must be readable at its address; `aws logs tail` of the registry says more
upgrade_tenants|Deploy each tenant's stack, and look whether its host answers|`aws cloudformation describe-stack-events` of the stack says what AWS refused; it has taken the change back, and tenants that come after it are as they were
STEPS
      ;;
    remove)
      cat <<'STEPS'
ready_remove|Look at the tools, the account, its region and the tenant|
leave_registry|Take its agents out of the registry|`aws logs tail` of the registry says more
forget_tenant|Take it out of the authorization server and the tables, and free its name|the credentials need dynamodb:DeleteItem, PutItem, Query and UpdateItem
drop_tenant|Delete its secrets and its stack|`aws cloudformation describe-stack-events` of the stack says what AWS refused
STEPS
      ;;
    remove-platform)
      cat <<'STEPS'
ready_removal|Look at the tools, the account, its region, and whether a tenant is over the platform|
drop_platform|Delete the stack|`aws cloudformation describe-stack-events` of the stack says what AWS refused
drop_data|Delete the tables and the secrets, where that was asked for|the credentials need dynamodb:UpdateTable, DeleteTable and secretsmanager:DeleteSecret
STEPS
      ;;
    *) usage ;;
  esac
}

steps() { # command
  local number=0 text
  while IFS='|' read -r _ text _; do
    number=$((number + 1))
    echo "$number. $text"
  done < <(steps_of "$1")
}

# What is being done, and what helps where it fails.
now='' advice=''
run_steps() { # command
  local all number=0 text function
  all=$(steps_of "$1" | wc -l)
  while IFS='|' read -r function text advice <&3; do
    number=$((number + 1)) now=$text
    echo "[$number/$((all))] $text" >&2
    "$function"
  done 3< <(steps_of "$1")
  now=''
}

ended() {
  local code=$?
  rm -rf "$scratch"
  if [ "$code" != 0 ] && [ -n "$now" ]; then
    echo "deploy.sh: it stopped at: $now" >&2
    [ -z "$advice" ] || echo "deploy.sh: what may help: $advice" >&2
    echo "deploy.sh: the same command again goes on; what is done stays done" >&2
  fi
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
platform_tables=(tasks sessions registry identity orders tenants)
# How many tenants are upgraded at once: AWS limits how fast the parts of APIs are changed.
at_once=3

switchyard() {
  local command
  read -ra command <<<"${SWITCHYARD:-cargo run --quiet --}"
  # The program, not this function.
  command "${command[@]}" "$@"
}

# What is missing here is said before anything is touched: a tool, credentials, a region, or that both are others' than those
# of the folder.
ready() { # tool...
  local tool missing='' said=$scratch/said
  for tool in "$@"; do
    command -v "$tool" >/dev/null || missing+=" $tool"
  done
  [ -z "$missing" ] || fail "not found here:$missing; docs/deploy.md says how to install what it wants"
  # sam reads one of the two, aws the other.
  region=${AWS_REGION:-${AWS_DEFAULT_REGION:-$(aws configure get region || true)}}
  [ -n "$region" ] || fail 'no region is set: export AWS_REGION, such as eu-north-1'
  [ "${AWS_DEFAULT_REGION:-$region}" = "$region" ] ||
    fail "AWS_REGION is $region and AWS_DEFAULT_REGION $AWS_DEFAULT_REGION: which is it?"
  export AWS_REGION=$region AWS_DEFAULT_REGION=$region
  account=$(aws sts get-caller-identity --query Account --output text 2>"$said") ||
    fail "AWS does not know who asks: $(cat "$said"); sign in, or name a profile in AWS_PROFILE"
  echo "account $account, region $region" >&2
  if [ -n "$files" ] && [ -f "$files/place" ]; then
    [ "$(cat "$files/place")" = "$account $region" ] ||
      fail "$files was deployed to account and region '$(cat "$files/place")', and this is '$account $region'"
  fi
}

# From here on the folder belongs to this account and region.
settle() { [ -f "$files/place" ] || echo "$account $region" >"$files/place"; }

# What AWS says of a stack; nothing where there is no such stack.
asked_of() { # stack query
  local said=$scratch/said
  if ! aws cloudformation describe-stacks --stack-name "$1" --output text --query "$2" 2>"$said"; then
    grep -q 'does not exist' "$said" || fail "$(cat "$said")"
  fi
}

# An output of a stack; nothing where there is no such stack, or none that came into being.
output() { # stack name
  local found
  # Where this is substituted, bash goes on after what fails, unless it is told.
  found=$(asked_of "$1" "Stacks[0].Outputs[?OutputKey=='$2'].OutputValue") || return
  [ "$found" = None ] || echo "$found"
}
# The same, where nothing goes on without it.
needed() { # stack name
  local found
  found=$(output "$1" "$2") || return
  [ -n "$found" ] || fail "the stack $1 says no $2; is it there, in $region, and of this release?"
  echo "$found"
}

parameter() { jq --raw-output --arg name "$1" '.[$name]' "$files/parameters.yaml"; }

# Whether something can be done with a stack now.
stands_well() { # stack
  local status
  status=$(asked_of "$1" 'Stacks[0].StackStatus')
  case $status in
    ROLLBACK_FAILED | CREATE_FAILED | DELETE_FAILED)
      fail "the stack $1 is in $status: \`aws cloudformation describe-stack-events --stack-name $1\` says why; \`aws cloudformation delete-stack --stack-name $1\` takes it away" ;;
    UPDATE_ROLLBACK_FAILED)
      fail "the stack $1 is in $status: \`aws cloudformation continue-update-rollback --stack-name $1\`, then once more" ;;
    REVIEW_IN_PROGRESS) ;;
    *_IN_PROGRESS) fail "the stack $1 is being changed ($status): wait until it is not" ;;
  esac
}

# A stack whose creation failed has been taken back, and stands in the way of the next one.
clear_failed() { # stack
  local status
  status=$(asked_of "$1" 'Stacks[0].StackStatus')
  if [ "$status" = ROLLBACK_COMPLETE ]; then
    aws cloudformation delete-stack --stack-name "$1"
    aws cloudformation wait stack-delete-complete --stack-name "$1"
  fi
}

# Deploys a stack that is built; the same again changes nothing. What it makes is tagged, so that a bill can be read by tag.
deploy() { # template stack argument...
  local template=$1 stack=$2
  shift 2
  sam deploy --template "$template" --stack-name "$stack" --capabilities CAPABILITY_IAM --resolve-s3 \
    --no-confirm-changeset --no-fail-on-empty-changeset "$@"
}

# The value of a secret, by the standard input: arguments can be read by others.
put_secret() { # id
  aws secretsmanager put-secret-value --secret-id "$1" --secret-string file:///dev/stdin >/dev/null
}
# Whether a secret that is there holds something.
is_filled() { # id
  local said=$scratch/said
  aws secretsmanager get-secret-value --secret-id "$1" --query VersionId --output text >/dev/null 2>"$said" && return
  grep -q ResourceNotFoundException "$said" || fail "$(cat "$said")"
  return 1
}

call() { curl --fail-with-body --silent --show-error -H "authorization: Bearer $token" "$@"; }
register() { # address of the agent
  call -X POST "$registry/agents" -H 'content-type: application/json' -d "{\"cardUrl\":\"$1/.well-known/agent-card.json\"}"
  echo
}

# The platform.

platform_folder() {
  [ -f "$files/parameters.yaml" ] && [ -f "$files/stack" ] && [ -f "$files/operator-key" ] ||
    fail "$files is no folder of \`switchyard platform add --aws\`: parameters.yaml, stack or operator-key is missing"
  stage=$(parameter Stage) platform=$(cat "$files/stack")
  check_names
  local name
  for name in "${platform_secrets[@]}"; do
    [ -f "$files/$name" ] || fail "$files has no $name: an older release wrote it; \`switchyard upgrade --aws\` adds what is new"
  done
}

ready_platform() {
  local most
  ready aws sam curl jq cargo-lambda
  stands_well "$platform"
  most=$(aws lambda get-account-settings --query AccountLimit.ConcurrentExecutions --output text)
  ((most >= 100)) || echo "note: this account runs $most functions at once; ask for more (Service Quotas, Lambda, \"Concurrent executions\")" >&2
  settle
}

build_platform() { sam build --template template.yaml --build-dir .aws-sam/platform; }

# The stack with the folder's parameters, whose tables are protected or not.
deploy_platform() { # template protected argument...
  local template=$1 protected=$2
  shift 2
  jq --arg protected "$protected" '. + {ProtectTables: $protected}' "$files/parameters.yaml" >"$scratch/parameters.yaml"
  deploy "$template" "$platform" --parameter-overrides "file://$scratch/parameters.yaml" --tags "stage=$stage" "$@"
}

create_platform() {
  local there
  clear_failed "$platform"
  there=$(output "$platform" RegistryUrl)
  # Should a first one fail, the tables have to go again.
  [ -n "$there" ] || deploy_platform .aws-sam/platform/template.yaml false
}

protect_platform() { deploy_platform .aws-sam/platform/template.yaml true; }

fill_platform() {
  local name
  for name in "${platform_secrets[@]}"; do
    put_secret "switchyard/$stage/$name" <"$files/$name"
  done
}

# By a token of the operator's.
administer() {
  registry=$(needed "$platform" RegistryUrl)
  token=$(switchyard token --key "$files/operator-key" --issuer switchyard-operator --for "$registry" --scope registry:admin)
}

# What types of agents there are is said once, by the operator; then the agents that serve every tenant.
declare_types() {
  local type scope
  [ -z "$unexecuted" ] || return 0
  administer
  while read -r type scope; do
    call -X PUT "$registry/types/$type" -H 'content-type: application/json' -d "{\"scope\":\"$scope\"}"
    echo
  done <<<$'weather global\nairbnb global\ncalendar global\nreport global\nhorizon tenant'
}

register_platform() {
  local agent address
  local agents=(Weather Report)
  [ -z "$unexecuted" ] || return 0
  # Nor without a client at Google.
  [ "$(jq --raw-output .google.client_id "$files/calendar-providers")" = null ] || agents+=(Calendar)
  # Without a server to ask it could only say so.
  [ "$(parameter McpUrl)" = null ] || agents+=(Airbnb)
  administer
  for agent in "${agents[@]}"; do
    address=$(needed "$platform" "${agent}AgentUrl")
    register "$address"
  done
}

platform() {
  files=$1
  platform_folder
  run_steps platform
  echo "The registry is at $registry"
  echo "Keep $files somewhere safe: with operator-key the registry is administered, and a later deployment wants all of it."
}

# A tenant.

# The addresses are known only once the stack is there: until then these stand for them.
filled() { sed -e "s|https://base-url.invalid|$base|g" -e "s|https://idp-url.invalid|$idp|g" "$1"; }

# A token of the tenant's own for the registry.
tenant_token() { # file of the session key
  switchyard token --key "$1" --issuer "$base" --tenant "$tenant" --for "$registry" --scope registry:write
}

tenant_folder() {
  local name
  [ -f "$files/parameters.yaml" ] || fail "$files is no folder of \`switchyard tenant add NAME --aws\`: parameters.yaml is missing"
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
  for name in "${tenant_secrets[@]}"; do
    [ -f "$files/$name" ] || fail "$files has no $name: it is not whole"
  done
}

ready_tenant() {
  ready aws sam curl jq cargo-lambda
  registry=$(output "$platform" RegistryUrl)
  idp=$(output "$platform" IdpUrl)
  [ -n "$registry" ] && [ -n "$idp" ] || fail "there is no platform $platform here; is $region its region?"
  present
  [ "$status" = removed ] || [ "${present:-$prefix}" = "$prefix" ] ||
    fail "there is a tenant $tenant already, which these keys are not of"
  stands_well "$stack"
  settle
}

build_tenant() { sam build --template infra/tenant.yaml --build-dir .aws-sam/tenant; }

deploy_tenant() {
  clear_failed "$stack"
  deploy .aws-sam/tenant/template.yaml "$stack" --parameter-overrides "file://$parameters" --tags "stage=$stage" "tenant=$tenant"
  base=$(needed "$stack" BaseUrl)
}

# What its functions sign and seal with.
fill_tenant() {
  local name
  for name in "${tenant_secrets[@]}"; do
    filled "$files/$name" | put_secret "switchyard/$stage/$tenant/$name"
  done
}

# Who it is at the authorization server, in the order of the files: the host, which makes it a tenant, comes last.
identify_tenant() {
  local item
  for item in "$files"/identity-*.json; do
    filled "$item" | aws dynamodb put-item --table-name "$table" --item file:///dev/stdin
  done
  known
}

# Its own agent in the registry.
register_tenant() {
  local horizon
  horizon=$(needed "$stack" HorizonAgentUrl)
  token=$(tenant_token "$files/session-key")
  register "$horizon"
}

tenant() {
  files=$1
  tenant_folder
  run_steps tenant
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

# A release.

# Whose stack takes something from the platform's is a tenant over it. Where the stack is gone, so is what it exports.
who_is_over() {
  local said=$scratch/said each
  over=()
  if aws cloudformation list-imports --export-name "$platform-TablePrefix" --query Imports --output text >"$scratch/over" 2>"$said"; then
    while read -r each; do
      [ "$each" = None ] || over+=("$each")
    done < <(tr '\t' '\n' <"$scratch/over" | sed '/^$/d')
  else
    grep -q 'not imported\|does not exist\|No export' "$said" || fail "$(cat "$said")"
  fi
}

ready_upgrade() {
  local each
  ready aws sam curl jq cargo-lambda
  registry=$(output "$platform" RegistryUrl)
  [ -n "$registry" ] || fail "there is no platform $platform here; is $region its region?"
  who_is_over
  echo "${#over[@]} tenants: ${over[*]-}" >&2
  for each in "$platform" ${over[@]+"${over[@]}"}; do stands_well "$each"; done
  settle
}

build_all() {
  build_platform
  build_tenant
}

package_all() {
  local which
  for which in platform tenant; do
    sam package --template ".aws-sam/$which/template.yaml" --resolve-s3 --output-template-file ".aws-sam/$which/packaged.yaml" >/dev/null
  done
}

upgrade_platform() { deploy_platform .aws-sam/platform/packaged.yaml true ${unexecuted:+"$unexecuted"}; }

# Those that are filled stay as they are, as they may have been rotated.
fill_new() {
  local name
  [ -z "$unexecuted" ] || return 0
  for name in "${platform_secrets[@]}"; do
    is_filled "switchyard/$stage/$name" || put_secret "switchyard/$stage/$name" <"$files/$name"
  done
}

# A stack's parameter, where it has one.
has() { # stack parameter
  local found
  found=$(asked_of "$1" "Stacks[0].Parameters[?ParameterKey=='$2'].ParameterValue") || return
  [ "$found" = None ] || echo "$found"
}

upgrade_tenant() { # stack
  local stack=$1 tenant prefix name host
  tenant=$(has "$stack" Tenant)
  check 'a tenant' "$tenant" '[a-z][a-z0-9-]*'
  prefix=$(has "$stack" TenantPrefix)
  # What is not said stays as it is; a stack of before there were prefixes has none.
  if [ -n "$prefix" ]; then set --; else set -- --parameter-overrides "TenantPrefix=$tenant"; fi
  deploy .aws-sam/tenant/packaged.yaml "$stack" "$@" --tags "stage=$stage" "tenant=$tenant" ${unexecuted:+"$unexecuted"}
  [ -z "$unexecuted" ] || return 0
  for name in "${tenant_secrets[@]}"; do
    is_filled "switchyard/$stage/$tenant/$name" ||
      fail "the secret $name of $tenant is empty: run infra/deploy.sh tenant with the folder of $tenant"
  done
  host=$(needed "$stack" HostAgentUrl)
  curl --fail --silent --show-error --retry 5 --retry-all-errors --output /dev/null "$host/.well-known/agent-card.json"
  echo "$stack is upgraded" >&2
}

# The first one alone, then a few at a time; none begins after one that failed.
upgrade_tenants() {
  local stack failed='' running=0
  ((${#over[@]})) || return 0
  upgrade_tenant "${over[0]}"
  set -- "${over[@]:1}"
  while (($#)); do
    for stack in "${@:1:at_once}"; do
      upgrade_tenant "$stack" >"$scratch/$stack.log" 2>&1 &
      echo "$!" >"$scratch/$stack.pid"
    done
    for stack in "${@:1:at_once}"; do
      wait "$(cat "$scratch/$stack.pid")" || failed+=" $stack"
      cat "$scratch/$stack.log"
    done
    [ -z "$failed" ] || fail "not upgraded:$failed"
    running=$(($# < at_once ? $# : at_once))
    shift "$running"
  done
}

upgrade() {
  files=$1
  shift
  case ${1-} in
    '') ;;
    --plan) unexecuted=--no-execute-changeset ;;
    *) usage ;;
  esac
  platform_folder
  run_steps upgrade
  if [ -n "$unexecuted" ]; then
    echo 'Nothing is changed; the change sets above say what would be.'
  else
    echo "The platform $platform and ${#over[@]} tenants are of this release."
  fi
}

# Away with it.

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

ready_remove() {
  ready aws sam curl jq
  registry=$(output "$platform" RegistryUrl)
  [ -n "$registry" ] || fail "there is no platform $platform here; is $region its region?"
  base=$(output "$stack" BaseUrl)
  present
  # Of a tenant that an older release made there may be no record.
  prefix=${present:-$tenant}
}

# By a token of its own; where the stack is gone, they have left it.
leave_registry() {
  local key=$scratch/key said=$scratch/said id
  [ -n "$base" ] || return 0
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
}

# The authorization server knows it no longer, nor those who could sign in.
gone() { # pk sk
  aws dynamodb delete-item --table-name "$table" --key "$(jq --null-input --compact-output --arg pk "$1" --arg sk "$2" '{pk: {S: $pk}, sk: {S: $sk}}')"
}
forget_tenant() {
  local user
  gone "$prefix#client#host" CLIENT
  gone "$prefix#client#host" SESSIONS
  aws dynamodb query --table-name "$table" --key-condition-expression 'pk = :users' --projection-expression sk --output json \
    --expression-attribute-values "{\":users\":{\"S\":\"$prefix#users\"}}" >"$scratch/users.json"
  jq --raw-output '.Items[]?.sk.S' "$scratch/users.json" >"$scratch/users"
  for user in ${users[@]+"${users[@]}"}; do echo "$user"; done >>"$scratch/users"
  sort --unique "$scratch/users" >"$scratch/all-users"
  while read -r user; do
    gone "$prefix#user#$user" USER
    gone "$prefix#users" "$user"
  done <"$scratch/all-users"
  # What it leaves is found by that (`switchyard tenant purge`); noted before the name is free for another one.
  jq --null-input --compact-output --arg name "$tenant" --arg gone "GONE#$prefix" '{pk: {S: $name}, sk: {S: $gone}}' |
    aws dynamodb put-item --table-name "$tenants" --item file:///dev/stdin
  # Its name is free; what lies below its prefix is nobody's until it expires.
  [ -z "$present" ] || aws dynamodb update-item --table-name "$tenants" --key "$(tenant_key)" \
    --update-expression 'SET #status = :removed REMOVE #settings' \
    --expression-attribute-names '{"#status":"status","#settings":"settings"}' \
    --expression-attribute-values '{":removed":{"S":"removed"}}'
}

# Deletes a secret at once, as nothing of its name could come back while it waits to be deleted; one that is gone is gone.
delete_secret() { # id
  local said=$scratch/said
  aws secretsmanager delete-secret --secret-id "$1" --force-delete-without-recovery 2>"$said" ||
    grep -q ResourceNotFoundException "$said" || fail "$(cat "$said")"
}

drop_tenant() {
  local name
  for name in "${tenant_secrets[@]}"; do
    delete_secret "switchyard/$stage/$tenant/$name"
  done
  sam delete --stack-name "$stack" --no-prompts
}

# What comes after the name of the command.
options() { # argument...
  stage=prod platform=switchyard
  while (($# > 1)); do
    case $1 in
      --stage) stage=$2 ;;
      --platform-stack) platform=$2 ;;
      --user)
        [ -n "$tenant" ] || usage
        check 'a user' "$2" '[a-z0-9._@+-]+'
        users+=("$2")
        ;;
      *) usage ;;
    esac
    shift 2
  done
  (($# == 0)) || usage
}

remove() {
  tenant=$1
  shift
  users=()
  options "$@"
  check_tenant
  run_steps remove
}

ready_removal() {
  ready aws sam
  who_is_over
  ((${#over[@]} == 0)) || fail "tenants are over the platform $platform: ${over[*]}"
}

drop_platform() {
  sam delete --stack-name "$platform" --no-prompts
}

drop_data() {
  local name table stands said=$scratch/said
  [ -n "$with_data" ] || return 0
  for name in "${platform_tables[@]}"; do
    table=switchyard-$stage-$name
    if stands=$(aws dynamodb describe-table --table-name "$table" --query 'Table.[TableStatus,DeletionProtectionEnabled]' --output text 2>"$said"); then
      case $stands in DELETING*) continue ;; esac
      if [[ $stands == *True ]]; then
        aws dynamodb update-table --table-name "$table" --no-deletion-protection-enabled >/dev/null
        aws dynamodb wait table-exists --table-name "$table"
      fi
      aws dynamodb delete-table --table-name "$table" >/dev/null
    else
      grep -q ResourceNotFoundException "$said" || fail "$(cat "$said")"
    fi
  done
  for name in "${platform_secrets[@]}"; do
    delete_secret "switchyard/$stage/$name"
  done
}

remove-platform() {
  local arguments=()
  while (($#)); do
    if [ "$1" = --with-data ]; then with_data=yes; else arguments+=("$1"); fi
    shift
  done
  tenant=''
  options ${arguments[@]+"${arguments[@]}"}
  check_names
  run_steps remove-platform
  [ -n "$with_data" ] || echo "The tables and secrets of $stage are there yet: the same with --with-data deletes them."
}

(($# > 0)) || usage
what=$1
shift
files='' unexecuted='' with_data=''
case $what in
  platform | tenant | upgrade)
    (($# == 1)) || { [ "$what" = upgrade ] && (($# == 2)); } || usage
    # Before the folder changes, as the path may be relative to it.
    folder=$(cd "$1" && pwd) || fail "there is no folder $1"
    shift
    set -- "$folder" "$@"
    ;;
  suspend | resume) (($# == 2)) || usage ;;
  remove | settings | steps) (($# > 0)) || usage ;;
  remove-platform) ;;
  *) usage ;;
esac
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# Readable by nobody else: a key may lie in it.
scratch=$(mktemp -d)
trap ended EXIT
"$what" "$@"
