#!/usr/bin/env bash
# Deploys the platform and tenants to AWS, upgrades them, and removes them. After a failure, run the same command again: it
# continues.
#
#   infra/deploy.sh platform FOLDER
#   infra/deploy.sh tenant FOLDER
#       FOLDER is what `switchyard platform add --aws` or `switchyard tenant add NAME --aws` wrote: the stack's parameters,
#       the values of its secrets, a tenant's items of the authorization server. It holds keys.
#   infra/deploy.sh pool FOLDER
#       FOLDER is what `switchyard pool add --aws` wrote: the parameters of the stack that many tenants share.
#   infra/deploy.sh pooled FOLDER
#       What `switchyard tenant add NAME --aws --pooled` prints: the tenant of FOLDER comes into the pool. It has no stack.
#   infra/deploy.sh to-pool|to-silo FOLDER
#       What `switchyard tenant move NAME --aws` prints: its functions are in the pool from then on, or in a stack of its own.
#   infra/deploy.sh upgrade FOLDER [--plan]
#       Builds this release once and deploys it: the platform of FOLDER, then the pool and the stack of every tenant. All
#       parameters keep their values. With --plan it shows what would change, and changes nothing.
#   infra/deploy.sh rotate-keys FOLDER
#       After `switchyard keys rotate --aws`: brings the new keys of FOLDER, a platform's or a tenant's, to its functions.
#   infra/deploy.sh move-agent FOLDER
#       After `switchyard agent move AGENT --aws`: brings the agent's new path to its stack and to the registry.
#   infra/deploy.sh settings TENANT STAGE [KEY=VALUE]...
#       What `switchyard tenant set|unset --aws` prints; a setting without a value is removed. Without any setting it
#       registers a tenant that an older release deployed.
#   infra/deploy.sh logo TENANT STAGE [MEDIA_TYPE HASH FILE]
#       What `switchyard tenant brand --logo|--reset --aws` prints; without a file the logo is removed.
#   infra/deploy.sh suspend|resume TENANT STAGE
#       What `switchyard tenant suspend|resume --aws` prints: nobody is let in, or everybody again.
#   infra/deploy.sh remove TENANT [--stage STAGE] [--platform-stack STACK] [--user NAME]...
#       What the tenant sealed can never be opened again. Its tasks and chats stay in the tables, where nobody can reach them,
#       until they expire or `switchyard tenant purge TENANT --aws` deletes them.
#   infra/deploy.sh remove-platform [--stage STAGE] [--platform-stack STACK] [--with-data]
#       Deletes the platform's stack, once no tenant uses it. Its tables and secrets stay, unless --with-data deletes them.
#   infra/deploy.sh steps platform|tenant|pool|pooled|to-pool|to-silo|upgrade|rotate-keys|move-agent|remove|remove-platform
#       Lists the steps of a command.
#
# It needs AWS credentials and a region in the environment, and the programs aws, sam, curl and jq. SWITCHYARD names the
# command `switchyard`; without it, cargo runs it.
set -euo pipefail

usage() {
  sed -n '2,39s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

fail() {
  echo "deploy.sh: $*" >&2
  exit 1
}

# The steps of each command, in order: a function of this script, what it does, and what helps if it fails.
steps_of() { # command
  case $1 in
    platform)
      cat <<'STEPS'
ready_platform|Look at the tools, the account, its region and the stack|
build_platform|Build the platform's functions (half an hour the first time)|`cargo lambda --version` must answer; docs/deploy.md says how it is installed
create_platform|Create the stack; a failure takes its tables back|`aws cloudformation describe-stack-events` of the stack says what AWS refused
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
    pool)
      cat <<'STEPS'
ready_pool|Look at the tools, the account, its region, the platform and the stack|
build_pool|Build the pool's functions|`cargo lambda --version` must answer; docs/deploy.md says how it is installed
deploy_pool|Deploy the pool's stack|`aws cloudformation describe-stack-events` of the stack says what AWS refused
STEPS
      ;;
    pooled)
      cat <<'STEPS'
ready_pooled|Look at the tools, the account, its region, the platform and the pool|
identify_tenant|Make the tenant known to the authorization server and the tables|the credentials need dynamodb:PutItem and dynamodb:UpdateItem
place_in_pool|Seal its keys, and put it into the pool|the credentials need kms:GenerateDataKey and dynamodb:UpdateItem
register_tenant|Register the tenant's own agent|a domain answers only once its DNS name points at the pool's output DomainTarget; `aws logs tail` of the registry says more
STEPS
      ;;
    to-pool)
      cat <<'STEPS'
ready_to_pool|Look at the tools, the account, its region, the pool and the tenant|
place_in_pool|Seal its keys, and put it into the pool|the credentials need kms:GenerateDataKey and dynamodb:UpdateItem
STEPS
      ;;
    to-silo)
      cat <<'STEPS'
ready_to_silo|Look at the tools, the account, its region, the platform and the tenant|
build_tenant|Build the tenant's functions|`cargo lambda --version` must answer; docs/deploy.md says how it is installed
deploy_tenant|Deploy the tenant's stack|`aws cloudformation describe-stack-events` of the stack says what AWS refused
fill_tenant|Put the keys into the tenant's secrets|the credentials need secretsmanager:PutSecretValue
leave_pool|Take it out of the pool|the credentials need dynamodb:UpdateItem
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
upgrade_pool|Deploy the pool's stack, where there is one|`aws cloudformation describe-stack-events` of the stack says what AWS refused; it has taken the change back
upgrade_tenants|Deploy each tenant's stack, and look whether its host answers|`aws cloudformation describe-stack-events` of the stack says what AWS refused; it has taken the change back, and tenants that come after it are as they were
STEPS
      ;;
    rotate-keys)
      cat <<'STEPS'
ready_rotation|Look at the tools, the account, its region and the stack|
know_keys|Store the new keys behind those in use, so that functions know them|the credentials need secretsmanager:PutSecretValue and dynamodb:PutItem
restart_knowing|Start every function anew, which reads them|`aws cloudformation describe-stack-events` of the stack says what AWS refused
use_keys|Store the new keys in front, so that they are used|the credentials need secretsmanager:PutSecretValue
restart_using|Start every function anew, which uses them|`aws cloudformation describe-stack-events` of the stack says what AWS refused
end_rotation|Note in the folder that it is done|
STEPS
      ;;
    move-agent)
      cat <<'STEPS'
ready_move|Look at the tools, the account, its region and the stack|
move_path|Give the agent its new path|`aws cloudformation describe-stack-events` of the stack says what AWS refused
register_moved|Register it at its new address, and remove the old one from the registry|`aws logs tail` of the registry says more
end_move|Note in the folder that it is done|
STEPS
      ;;
    remove)
      cat <<'STEPS'
ready_remove|Look at the tools, the account, its region and the tenant|
leave_registry|Take its agents out of the registry|`aws logs tail` of the registry says more
forget_tenant|Take it out of the authorization server and the tables, and free its name|the credentials need dynamodb:DeleteItem, PutItem, Query and UpdateItem
end_tasks|Let what it has under way end, three minutes at most|the credentials need dynamodb:Query and UpdateItem
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

# The step that runs now, and what helps if it fails.
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
    echo "deploy.sh: run the same command again to continue; the steps before stay done" >&2
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
  # The pool's own stack and queues are called so.
  [ "$tenant" != pool ] || fail 'a tenant cannot be called pool'
  check_names
  stack=$platform-$tenant
  table=switchyard-$stage-identity
  tenants=switchyard-$stage-tenants
}

# The secrets of infra/tenant.yaml and of template.yaml, by the last part of their names.
tenant_secrets=(session-key sealing-keys horizon-sealing-keys oauth-providers)
platform_secrets=(idp-keys weather-sealing-keys airbnb-sealing-keys calendar-sealing-keys calendar-providers report-sealing-keys audit-sealing-keys)
platform_tables=(tasks sessions registry identity orders tenants audit)
# How many tenants are upgraded at once: AWS limits how fast the parts of APIs are changed.
at_once=3

switchyard() {
  local command
  read -ra command <<<"${SWITCHYARD:-cargo run --quiet --}"
  # The program, not this function.
  command "${command[@]}" "$@"
}

# Checked before anything is touched: tools, credentials, the region, and that account and region are those of the folder.
ready() { # tool...
  local tool missing='' said=$scratch/said
  for tool in "$@"; do
    command -v "$tool" >/dev/null || missing+=" $tool"
  done
  [ -z "$missing" ] || fail "not found here:$missing; docs/deploy.md says how to install them"
  # sam reads one of the two, aws the other.
  region=${AWS_REGION:-${AWS_DEFAULT_REGION:-$(aws configure get region || true)}}
  [ -n "$region" ] || fail 'no region is set: export AWS_REGION, such as eu-north-1'
  [ "${AWS_DEFAULT_REGION:-$region}" = "$region" ] ||
    fail "AWS_REGION is $region and AWS_DEFAULT_REGION $AWS_DEFAULT_REGION: which is it?"
  export AWS_REGION=$region AWS_DEFAULT_REGION=$region
  account=$(aws sts get-caller-identity --query Account --output text 2>"$said") ||
    fail "AWS does not accept these credentials: $(cat "$said"); sign in, or name a profile in AWS_PROFILE"
  echo "account $account, region $region" >&2
  if [ -n "$files" ] && [ -f "$files/place" ]; then
    [ "$(cat "$files/place")" = "$account $region" ] ||
      fail "$files was deployed to account and region '$(cat "$files/place")', and this is '$account $region'"
  fi
}

# From now on the folder belongs to this account and region.
settle() { [ -f "$files/place" ] || echo "$account $region" >"$files/place"; }

# What AWS says about a stack; nothing if there is no such stack.
asked_of() { # stack query
  local said=$scratch/said
  if ! aws cloudformation describe-stacks --stack-name "$1" --output text --query "$2" 2>"$said"; then
    grep -q 'does not exist' "$said" || fail "$(cat "$said")"
  fi
}

# An output of a stack; nothing if there is no such stack, or its creation failed.
output() { # stack name
  local found
  # Inside $(…) bash would continue after a failure.
  found=$(asked_of "$1" "Stacks[0].Outputs[?OutputKey=='$2'].OutputValue") || return
  [ "$found" = None ] || echo "$found"
}
# The same, if nothing can be done without it.
needed() { # stack name
  local found
  found=$(output "$1" "$2") || return
  [ -n "$found" ] || fail "the stack $1 has no output $2: is it deployed, in $region, from this release?"
  echo "$found"
}

parameter() { jq --raw-output --arg name "$1" '.[$name]' "$files/parameters.yaml"; }

# Whether a stack can be changed now, and is what it should be: a platform whose name looks like that of a tenant's stack must
# not be taken for one, nor the other way round.
stands_well() { # stack [tenant]
  local status owner
  status=$(asked_of "$1" 'Stacks[0].StackStatus')
  [ -n "$status" ] && [ "$status" != ROLLBACK_COMPLETE ] || return 0
  owner=$(has "$1" Tenant)
  [ "$owner" = "${2-}" ] ||
    fail "there is a stack $1 already, of ${owner:+the tenant }${owner:-a platform}: choose another name for the platform's stack (--platform-stack)"
  case $status in
    ROLLBACK_FAILED | CREATE_FAILED | DELETE_FAILED)
      fail "the stack $1 is in $status: \`aws cloudformation describe-stack-events --stack-name $1\` says why; \`aws cloudformation delete-stack --stack-name $1\` takes it away" ;;
    UPDATE_ROLLBACK_FAILED)
      fail "the stack $1 is in $status: \`aws cloudformation continue-update-rollback --stack-name $1\`, then once more" ;;
    REVIEW_IN_PROGRESS) ;;
    *_IN_PROGRESS) fail "the stack $1 is being changed ($status): wait until it is not" ;;
  esac
}

# A stack whose creation failed is empty, and must be deleted before it can be created again.
clear_failed() { # stack
  local status
  status=$(asked_of "$1" 'Stacks[0].StackStatus')
  if [ "$status" = ROLLBACK_COMPLETE ]; then
    aws cloudformation delete-stack --stack-name "$1"
    aws cloudformation wait stack-delete-complete --stack-name "$1"
  fi
}

# Deploys a stack that is built. Running it again changes nothing. CloudFormation gives the tags to everything in the stack.
deploy() { # template stack argument...
  local template=$1 stack=$2
  shift 2
  sam deploy --template "$template" --stack-name "$stack" --capabilities CAPABILITY_IAM --resolve-s3 \
    --no-confirm-changeset --no-fail-on-empty-changeset "$@"
}

# Sets the value of a secret from the standard input: other users of this machine can read arguments.
put_secret() { # id
  aws secretsmanager put-secret-value --secret-id "$1" --secret-string file:///dev/stdin >/dev/null
}
# Whether a secret has a value.
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

# What was begun with a folder must end first: its files are already as they are after the last step.
nothing_begun() {
  [ ! -f "$files/rotation" ] || fail "a rotation of keys is under way: run \`infra/deploy.sh rotate-keys $files\` to its end first"
  [ ! -f "$files/move" ] || fail "an agent is being moved: run \`infra/deploy.sh move-agent $files\` to its end first"
}

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
  if ((most < 100)); then
    echo "note: this account runs $most functions at once. Ask for more (Service Quotas, Lambda, \"Concurrent executions\")." >&2
    echo "note: until then set QueueConcurrency to 2 in $files/parameters.yaml, so that queues leave room for people." >&2
  fi
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
  nothing_begun
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
  stands_well "$stack" "$tenant"
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
  if [ -n "$pooled" ]; then horizon=$base/a/horizon/$(parameter HorizonPath); else horizon=$(needed "$stack" HorizonAgentUrl); fi
  token=$(tenant_token "$files/session-key")
  register "$horizon"
}

tenant() {
  files=$1
  tenant_folder
  nothing_begun
  run_steps tenant
  echo "$tenant is at $base"
  echo "Keep $files somewhere safe: a later deployment wants all of it."
}

# The pool: one stack, and tenants that are records in it.

pool_folder() {
  [ -f "$files/parameters.yaml" ] || fail "$files is no folder of \`switchyard pool add --aws\`: parameters.yaml is missing"
  stage=$(parameter Stage) platform=$(parameter PlatformStack)
  check_names
  stack=$platform-pool parameters=$files/parameters.yaml
}

ready_pool() {
  local registry
  ready aws sam jq cargo-lambda
  registry=$(output "$platform" RegistryUrl)
  [ -n "$registry" ] || fail "there is no platform $platform here; is $region its region?"
  stands_well "$stack"
  settle
}

build_pool() { sam build --template infra/pool.yaml --build-dir .aws-sam/pool; }

deploy_pool() {
  clear_failed "$stack"
  deploy .aws-sam/pool/template.yaml "$stack" --parameter-overrides "file://$parameters" --tags "stage=$stage"
  base=$(needed "$stack" BaseUrl)
}

pool() {
  files=$1
  pool_folder
  run_steps pool
  echo "The pool is at $base: a tenant NAME is at $base/t/NAME"
}

# Where the pool is, and the key that seals its tenants' keys.
find_pool() {
  local pool
  registry=$(output "$platform" RegistryUrl)
  idp=$(output "$platform" IdpUrl)
  [ -n "$registry" ] && [ -n "$idp" ] || fail "there is no platform $platform here; is $region its region?"
  pool=$(output "$platform-pool" BaseUrl)
  [ -n "$pool" ] || fail "there is no pool over $platform yet: \`switchyard pool add --aws\`"
  sealing=$(needed "$platform-pool" KeysOfTenants)
  base=$(parameter PublicUrl)
  [ "$base" != null ] || base=$pool/t/$tenant
  present
}

ready_pooled() {
  local own
  ready aws curl jq
  pooled=yes
  find_pool
  [ "$status" = removed ] || [ "${present:-$prefix}" = "$prefix" ] ||
    fail "there is a tenant $tenant already, which these keys are not of"
  own=$(output "$stack" BaseUrl)
  [ -z "$own" ] ||
    fail "$tenant has a stack of its own: \`switchyard tenant move $tenant --to pool --aws\`"
  settle
}

# Each secret gets a data key of its own, which KMS gives out for this tenant and this secret alone.
place_in_pool() {
  local name
  for name in "${tenant_secrets[@]}"; do
    aws kms generate-data-key --key-id "$sealing" --key-spec AES_256 --output json \
      --encryption-context "{\"tenant\":\"$prefix\",\"secret\":\"$name\"}" | jq --compact-output --arg name "$name" '{($name): .}'
  done | jq --slurp --compact-output add >"$scratch/data-keys.json"
  switchyard tenant pooled --folder "$files" --base-url "$base" --idp-url "$idp" <"$scratch/data-keys.json" >"$scratch/pooled.json"
  aws dynamodb update-item --table-name "$tenants" --key "$(tenant_key)" \
    --update-expression 'SET #place = :pool, #pooled = :pooled' \
    --condition-expression '#prefix = :prefix AND #status <> :gone' \
    --expression-attribute-names '{"#place":"place","#pooled":"pooled","#prefix":"prefix","#status":"status"}' \
    --expression-attribute-values "file://$scratch/pooled.json"
}

pooled() {
  files=$1
  tenant_folder
  nothing_begun
  run_steps pooled
  echo "$tenant is at $base"
  echo "Keep $files somewhere safe: a later deployment wants all of it."
}

# A tenant keeps its address where it moves: it is in tokens, cards, redirect URIs and consents.
keeps_its_address() {
  [ "$(parameter PublicUrl)" != null ] ||
    fail "$tenant would have another address, and everybody would sign in anew: put something before both, such as infra/front.yaml, and name it as PublicUrl in $files/parameters.yaml"
  [ "$present" = "$prefix" ] || fail "there is no tenant $tenant with these keys here"
}

ready_to_pool() {
  local own
  ready aws jq
  find_pool
  keeps_its_address
  own=$(has "$stack" PublicUrl)
  [ "$own" = "$base" ] || fail "the stack $stack is not at $base"
  settle
}

to-pool() {
  files=$1
  tenant_folder
  nothing_begun
  run_steps to-pool
  echo "$tenant is in the pool: lead $base to $(needed "$platform-pool" ApiHost)/$stage/t/$tenant now. What comes to its stack is done as before;"
  echo "once nothing comes there any more, \`aws cloudformation delete-stack --stack-name $stack\` takes it away."
}

ready_to_silo() {
  ready_tenant
  keeps_its_address
}

# From now on what is due of it goes to its own queues; what is under way in the pool ends there.
leave_pool() {
  aws dynamodb update-item --table-name "$tenants" --key "$(tenant_key)" --update-expression 'REMOVE #place' \
    --condition-expression '#prefix = :prefix' --expression-attribute-names '{"#place":"place","#prefix":"prefix"}' \
    --expression-attribute-values "{\":prefix\":{\"S\":\"$prefix\"}}"
}

to-silo() {
  files=$1
  tenant_folder
  nothing_begun
  run_steps to-silo
  echo "$tenant has a stack of its own: lead $base to $(needed "$stack" ApiHost)/$stage now."
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

# What is due of a tenant some day, and with a name of an index by state all that is not over.
due_of() { # prefix [state]
  local shard
  local query=(aws dynamodb query --table-name "switchyard-$stage-tasks" --projection-expression 'pk, sk' --output json)
  for shard in 0 1 2 3 4 5 6 7; do
    "${query[@]}" --index-name by_due --key-condition-expression 'due_shard = :shard' --filter-expression 'begins_with(pk, :prefix)' \
      --expression-attribute-values "{\":shard\":{\"S\":\"due#$shard\"},\":prefix\":{\"S\":\"$1#\"}}"
  done >"$scratch/due.json"
  [ -z "${2-}" ] || "${query[@]}" --index-name by_status --key-condition-expression 'status_pk = :state' \
    --expression-attribute-values "{\":state\":{\"S\":\"$1#$2\"}}" >>"$scratch/due.json"
  # What is used is looked at once a day, and is no work under way.
  jq --compact-output '.Items[]? | select(.pk.S | contains("#usage#") | not)' "$scratch/due.json" | sort --unique >"$scratch/due"
}

# Makes that due now (as `store::Tasks::hasten` does); what has ended meanwhile stays so.
hasten() {
  local key id now said=$scratch/said
  now=$(date -u +%Y-%m-%dT%H:%M:%S.000Z)
  while read -r key; do
    id=$(jq --raw-output .pk.S <<<"$key")
    aws dynamodb update-item --table-name "switchyard-$stage-tasks" --key "$key" \
      --update-expression 'SET due_at = :now, due_shard = :shard' \
      --condition-expression 'attribute_exists(due_at) OR (attribute_exists(pk) AND attribute_not_exists(expires_at))' \
      --expression-attribute-values "{\":now\":{\"S\":\"$now\"},\":shard\":{\"S\":\"due#$((16#${id: -1} % 8))\"}}" 2>"$said" ||
      grep -q ConditionalCheckFailedException "$said" || fail "$(cat "$said")"
  done <"$scratch/due"
}

# Says how a tenant stands that the tables know. What was shared by links is not shared again after a suspension (`sharing`,
# `suspended_at`: as `store::Tenants` has it).
stands() { # status
  local set='SET #status = :status' names='{"#status":"status"}' values='{}'
  if [ "$1" = suspended ]; then
    set+=', #sharing = if_not_exists(#sharing, :zero) + :one, #since = :since'
    names='{"#status":"status","#sharing":"sharing","#since":"suspended_at"}'
    values="{\":zero\":{\"N\":\"0\"},\":one\":{\"N\":\"1\"},\":since\":{\"S\":\"$(date -u +%Y-%m-%dT%H:%M:%S.000Z)\"}}"
  fi
  values=$(jq --compact-output --arg status "$1" '. + {":status": {S: $status}, ":removed": {S: "removed"}}' <<<"$values")
  aws dynamodb update-item --table-name "$tenants" --key "$(tenant_key)" \
    --update-expression "$set" --condition-expression 'attribute_exists(pk) AND #status <> :removed' \
    --expression-attribute-names "$names" --expression-attribute-values "$values"
}
hold() { # status tenant stage
  tenant=$2 stage=$3 platform=switchyard
  check_tenant
  stands "$1"
}
suspend() { hold suspended "$@"; }
resume() {
  hold active "$@"
  present
  due_of "${present:-$tenant}"
  hasten
}

settings() {
  local pair key value map names='{}' values='{}' sets='' removes=''
  (($# > 1)) || usage
  tenant=$1 stage=$2 platform=switchyard
  shift 2
  check_tenant
  (($# > 0)) || { present && prefix=${present:-$tenant} && known && return; }
  for pair in "$@"; do
    key=${pair%%=*} value=${pair#*=}
    check 'a setting' "$key" '[A-Za-z][A-Za-z0-9_]*'
    # Those of the deployment are variables of the functions, in a map of their own.
    case $key in
      [A-Z]*) map=deployment ;;
      *) map=settings ;;
    esac
    names=$(jq --compact-output --arg key "$key" --arg map "$map" '.["#" + $key] = $key | .["#" + $map] = $map' <<<"$names")
    if [ -n "$value" ]; then
      sets+="${sets:+, }#$map.#$key = :$key"
      values=$(jq --compact-output --arg key "$key" --arg value "$value" '.[":" + $key] = {S: $value}' <<<"$values")
    else
      removes+="${removes:+, }#$map.#$key"
    fi
    # What was shared before is not shared again once it is on again.
    if [ "$key" = share ]; then
      sets+="${sets:+, }#sharing = if_not_exists(#sharing, :zero) + :one"
      names=$(jq --compact-output '.["#sharing"] = "sharing"' <<<"$names")
      values=$(jq --compact-output '. + {":zero": {N: "0"}, ":one": {N: "1"}}' <<<"$values")
    fi
  done
  # A path leads into a map that is there only.
  [ "$names" = "${names/\"#deployment\"/}" ] || aws dynamodb update-item --table-name "$tenants" --key "$(tenant_key)" \
    --update-expression 'SET #deployment = if_not_exists(#deployment, :none)' --condition-expression 'attribute_exists(pk)' \
    --expression-attribute-names '{"#deployment":"deployment"}' --expression-attribute-values '{":none":{"M":{}}}'
  aws dynamodb update-item --table-name "$tenants" --key "$(tenant_key)" \
    --update-expression "${sets:+SET $sets }${removes:+REMOVE $removes}" --condition-expression 'attribute_exists(pk)' \
    --expression-attribute-names "$names" ${sets:+--expression-attribute-values "$values"}
}

# The key of the logo: an item of its own, so that who reads a tenant's settings does not pay for it.
logo_key() { echo "{\"pk\":{\"S\":\"$tenant\"},\"sk\":{\"S\":\"LOGO#${present:-$tenant}\"}}"; }

logo() {
  local media=${3:-} hash=${4:-} file=${5:-}
  (($# == 2 || $# == 5)) || usage
  tenant=$1 stage=$2 platform=switchyard
  check_tenant
  present
  [ -n "$present" ] || fail "there is no tenant $tenant: nothing was stored"
  if [ -z "$file" ]; then
    aws dynamodb update-item --table-name "$tenants" --key "$(tenant_key)" --update-expression 'REMOVE #settings.#logo' \
      --condition-expression 'attribute_exists(pk)' --expression-attribute-names '{"#settings":"settings","#logo":"logo"}'
    aws dynamodb delete-item --table-name "$tenants" --key "$(logo_key)"
    return
  fi
  check 'a media type' "$media" 'image/(png|svg\+xml)'
  check 'a hash' "$hash" '[0-9a-f]+'
  (($(wc -c <"$file") <= 32768)) || fail "a logo has at most 32 KB"
  # The bytes first: a page that reads the new hash finds them.
  base64 <"$file" | tr -d '\n' >"$scratch/logo"
  jq --null-input --compact-output --argjson key "$(logo_key)" --arg media "$media" --rawfile bytes "$scratch/logo" \
    '$key + {media: {S: $media}, bytes: {B: $bytes}}' |
    aws dynamodb put-item --table-name "$tenants" --item file:///dev/stdin
  aws dynamodb update-item --table-name "$tenants" --key "$(tenant_key)" --update-expression 'SET #settings.#logo = :logo' \
    --condition-expression 'attribute_exists(pk)' --expression-attribute-names '{"#settings":"settings","#logo":"logo"}' \
    --expression-attribute-values "{\":logo\":{\"S\":\"$hash\"}}"
}

# A release.

# Whose stack takes something from the platform's is a tenant over it. Where the stack is gone, so is what it exports.
who_is_over() {
  local said=$scratch/said each
  over=() over_pool=''
  if aws cloudformation list-imports --export-name "$platform-TablePrefix" --query Imports --output text >"$scratch/over" 2>"$said"; then
    while read -r each; do
      case $each in
        None) ;;
        "$platform-pool") over_pool=$each ;;
        *) over+=("$each") ;;
      esac
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
  stands_well "$platform"
  [ -z "$over_pool" ] || stands_well "$over_pool"
  for each in ${over[@]+"${over[@]}"}; do stands_well "$each" "${each#"$platform"-}"; done
  settle
}

build_all() {
  build_platform
  build_tenant
  [ -z "$over_pool" ] || build_pool
}

package_all() {
  local which
  for which in platform tenant ${over_pool:+pool}; do
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

upgrade_pool() {
  [ -z "$over_pool" ] || deploy .aws-sam/pool/packaged.yaml "$over_pool" --tags "stage=$stage" ${unexecuted:+"$unexecuted"}
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

# One of several at once, with a place of its own for what AWS says: in a common one they would read each other's.
upgrade_beside() { # stack
  local scratch=$scratch/$1
  mkdir -p "$scratch"
  upgrade_tenant "$1"
}

# The first one alone, then a few at a time; none begins after one that failed.
upgrade_tenants() {
  local stack failed='' running=0
  ((${#over[@]})) || return 0
  upgrade_tenant "${over[0]}"
  set -- "${over[@]:1}"
  while (($#)); do
    for stack in "${@:1:at_once}"; do
      upgrade_beside "$stack" >"$scratch/$stack.log" 2>&1 &
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
  nothing_begun
  run_steps upgrade
  if [ -n "$unexecuted" ]; then
    echo 'Nothing is changed; the change sets above say what would be.'
  else
    echo "The platform $platform and ${#over[@]} tenants are of this release."
  fi
}

# Rotations.

# Which folder it is: a platform's or a tenant's. Sets the stack that is changed.
some_folder() {
  if [ -f "$files/stack" ]; then
    platform_folder
    tenant='' changed=$platform
  else
    tenant_folder
    changed=$stack
  fi
}

# A step's file of the folder, which `switchyard` wrote.
noted() { # file key
  jq --raw-output --arg key "$2" '.[$key]' "$files/$1"
}

# Sets parameters of a stack to those of $scratch/changed.json. Its template and its other parameters stay as they are.
reparameter() { # stack
  local said=$scratch/said lacking
  asked_of "$1" 'Stacks[0].Parameters[].ParameterKey' | tr '\t' '\n' >"$scratch/names"
  lacking=$(jq --raw-output --rawfile names "$scratch/names" 'keys - ($names | split("\n")) | join(", ")' "$scratch/changed.json")
  [ -z "$lacking" ] || fail "the stack $1 has no parameter $lacking: upgrade it to this release first"
  jq --rawfile names "$scratch/names" '. as $new | $names | split("\n") | map(select(. != "")) | map(
    {ParameterKey: .} + (if $new[.] then {ParameterValue: $new[.]} else {UsePreviousValue: true} end))' \
    "$scratch/changed.json" >"$scratch/given.json"
  if aws cloudformation update-stack --stack-name "$1" --use-previous-template --parameters "file://$scratch/given.json" \
    --capabilities CAPABILITY_IAM CAPABILITY_AUTO_EXPAND >/dev/null 2>"$said"; then
    aws cloudformation wait stack-update-complete --stack-name "$1"
  else
    grep -q 'No updates are to be performed' "$said" || fail "$(cat "$said")"
  fi
}

ready_rotation() {
  ready aws curl jq
  [ -f "$files/rotation" ] || fail "no rotation is prepared in $files: run \`switchyard keys rotate --aws --folder $files\`"
  edition=$(noted rotation edition)
  check 'an edition of keys' "$edition" '[0-9a-f]{1,31}'
  [ -n "$(output "$changed" ApiHost)" ] ||
    fail "there is no stack $changed of this release here; is $region its region?"
  stands_well "$changed" "$tenant"
  if [ -n "$tenant" ]; then
    base=$(needed "$changed" BaseUrl)
    idp=$(needed "$platform" IdpUrl)
  fi
}

# Where the secrets of this folder are, and their files.
each_secret() { # function
  local name place=switchyard/$stage/${tenant:+$tenant/}
  local names=("${platform_secrets[@]}")
  [ -z "$tenant" ] || names=("${tenant_secrets[@]}")
  for name in "${names[@]}"; do "$1" "$name" "$place$name"; done
}

# The new sealing key goes behind the others: functions that know it open what is sealed with it, and go on sealing with the one
# before. A new signing key needs no such step: its public half is published before it signs.
known_only() { # name id
  case $1 in
    *sealing-keys) jq --compact-output '.[1:] + .[:1]' "$files/$1" | put_secret "$2" ;;
  esac
}
know_keys() {
  local item
  each_secret known_only
  [ -n "$tenant" ] || return 0
  for item in "$files"/identity-*.json; do
    # The tenant's issuer, which now vouches for both keys.
    [ "$(jq --raw-output .sk.S "$item")" != SESSIONS ] ||
      filled "$item" | aws dynamodb put-item --table-name "$table" --item file:///dev/stdin
  done
}

used_now() { # name id
  case $1 in
    *sealing-keys | idp-keys | session-key) put_secret "$2" <"$files/$1" ;;
  esac
}
use_keys() { each_secret used_now; }

# A changed environment ends warm functions: what is asked next starts new ones.
restart() { # number of the step
  jq --arg edition "$edition$1" '{KeysEdition: $edition} + (if .SessionPublicKey then {SessionPublicKey} else {} end)' \
    "$files/parameters.yaml" >"$scratch/changed.json"
  reparameter "$changed"
}
restart_knowing() { restart 1; }
restart_using() { restart 2; }

end_rotation() {
  date +%s >"$files/rotated-at"
  rm "$files/rotation"
}

rotate-keys() {
  files=$1
  some_folder
  run_steps rotate-keys
  echo "The keys of ${tenant:-the platform $platform} are new; those before still open what they sealed."
}

ready_move() {
  ready aws curl jq
  [ -f "$files/move" ] || fail "no move is prepared in $files: run \`switchyard agent move AGENT --aws --folder $files\`"
  agent=$(noted move agent)
  check 'an agent' "$agent" '[A-Z][a-z]+'
  [ -z "$tenant" ] || base=$(needed "$changed" BaseUrl)
  registry=$(output "$platform" RegistryUrl)
  [ -n "$registry" ] || fail "there is no platform $platform here; is $region its region?"
  stands_well "$changed" "$tenant"
}

move_path() {
  jq --null-input --arg name "${agent}Path" --arg path "$(noted move after)" '{($name): $path}' >"$scratch/changed.json"
  reparameter "$changed"
}

# An agent that is not in the registry at its old address does not come into it.
register_moved() {
  local old id
  address=$(needed "$changed" "${agent}AgentUrl")
  old=${address%/*}/$(noted move before)
  if [ -n "$tenant" ]; then token=$(tenant_token "$files/session-key"); else administer; fi
  agents_where cardUrl "$old/.well-known/agent-card.json" >"$scratch/moved"
  while read -r id; do
    register "$address"
    call -X DELETE "$registry/agents/$id"
  done <"$scratch/moved"
}

end_move() { rm "$files/move"; }

move-agent() {
  files=$1
  some_folder
  run_steps move-agent
  echo "The agent ${agent,,} is at $address and nowhere else."
}

# Removal.

# The ids of the agents in the registry that have this value in this field, page by page.
agents_where() { # field value
  local cursor='' page
  while true; do
    page=$(call "$registry/agents?limit=100&disabled=true${cursor:+&cursor=$cursor}")
    jq --raw-output --arg field "$1" --arg wanted "$2" '.agents[] | select(.[$field] == $wanted) | .id' <<<"$page"
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
  pooled=$(jq --raw-output '.Item.place.S // empty' "$scratch/record")
  [ -z "$pooled" ] || base=$(jq --raw-output '.Item.pooled.M.base_url.S' "$scratch/record")
}

leave_registry_with() { # file of the session key
  local id
  token=$(tenant_token "$1")
  agents_where tenant "$prefix" >"$scratch/agents"
  while read -r id; do
    call -X DELETE "$registry/agents/$id"
  done <"$scratch/agents"
}

# By a token of its own; where the stack is gone, they have left it.
leave_registry() {
  local key=$scratch/key said=$scratch/said
  [ -n "$base" ] || return 0
  if [ -n "$pooled" ]; then
    jq --raw-output '.Item.pooled.M.secrets.M["session-key"].M.key.B' "$scratch/record" | base64 --decode >"$scratch/sealed"
    aws kms decrypt --ciphertext-blob "fileb://$scratch/sealed" --output json \
      --encryption-context "{\"tenant\":\"$prefix\",\"secret\":\"session-key\"}" >"$scratch/data-key.json"
    jq --slurp --compact-output '{record: .[0].Item.pooled.M, key: .[1]}' "$scratch/record" "$scratch/data-key.json" >"$scratch/opening.json"
    switchyard tenant pooled-secret session-key --tenant "$prefix" <"$scratch/opening.json" >"$key"
    leave_registry_with "$key"
  elif aws secretsmanager get-secret-value --secret-id "switchyard/$stage/$tenant/session-key" \
    --query SecretString --output text >"$key" 2>"$said"; then
    leave_registry_with "$key"
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
  aws dynamodb delete-item --table-name "$tenants" --key "$(logo_key)"
  # Its name is free; what lies below its prefix is nobody's until it expires.
  [ -z "$present" ] || aws dynamodb update-item --table-name "$tenants" --key "$(tenant_key)" \
    --update-expression 'SET #status = :removed REMOVE #settings, #deployment, #place, #pooled' \
    --expression-attribute-names '{"#status":"status","#settings":"settings","#deployment":"deployment","#place":"place","#pooled":"pooled"}' \
    --expression-attribute-values '{":removed":{"S":"removed"}}'
}

# Its agents end what is due of a tenant that is gone, its host what waits for somebody too: as long as its queue is there.
end_tasks() {
  local round
  due_of "$prefix" 'host#status#unfinished'
  hasten
  for ((round = 0; round < 18; round++)); do
    due_of "$prefix"
    if [ ! -s "$scratch/due" ] || [ -z "$base" ]; then return; fi
    sleep 10
  done
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
  ((${#over[@]} == 0)) && [ -z "$over_pool" ] || fail "tenants are over the platform $platform: ${over[*]-} ${over_pool:+and the pool}"
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
files='' unexecuted='' with_data='' pooled=''
case $what in
  platform | tenant | pool | pooled | to-pool | to-silo | upgrade | rotate-keys | move-agent)
    (($# == 1)) || { [ "$what" = upgrade ] && (($# == 2)); } || usage
    # Before the folder changes, as the path may be relative to it.
    folder=$(cd "$1" && pwd) || fail "there is no folder $1"
    shift
    set -- "$folder" "$@"
    ;;
  suspend | resume) (($# == 2)) || usage ;;
  remove | settings | logo | steps) (($# > 0)) || usage ;;
  remove-platform) ;;
  *) usage ;;
esac
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# Readable by nobody else: a key may lie in it.
scratch=$(mktemp -d)
trap ended EXIT
"$what" "$@"
