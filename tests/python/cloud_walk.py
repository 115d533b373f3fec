"""The templates on a second CloudFormation: made, failed half-way and made again, changed, removed, made again under the
same names. Run by `tests/run cloud`, which gives it the folders of `switchyard platform add --aws` and
`switchyard tenant add --aws`: cloud_walk.py PLATFORM_FOLDER TENANT_FOLDER TENANT_FOLDER
"""

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import cloud_engine
from cloud_engine import client

ROOT = Path(__file__).resolve().parents[2]
CERTIFICATE = "arn:aws:acm:eu-north-1:123456789012:certificate/0f1e"


def pages(service, operation, found, **arguments):
    """Everything that a list has."""
    told = client(service).get_paginator(operation).paginate(**arguments)
    return [each for page in told for each in page[found]]


class Stack:
    """A stack: its template, and the parameters that it is deployed with."""

    def __init__(self, name, template, parameters):
        self.name = name
        self.template = template
        self.parameters = parameters

    def deploy(self, expected, **changed):
        """What `sam deploy` does; the stack stands as expected then. Says why it was taken back, where it was."""
        self.parameters.update(changed)
        known = self.template["Parameters"]
        given = [{"ParameterKey": n, "ParameterValue": v} for n, v in self.parameters.items() if n in known]
        api, there = client("cloudformation"), self.status() is not None
        call = api.update_stack if there else api.create_stack
        body = json.dumps(self.template)
        call(StackName=self.name, TemplateBody=body, Parameters=given, Capabilities=["CAPABILITY_IAM"])
        told = self.told()
        stands = f"{self.name}: {told['StackStatus']}: {told.get('StackStatusReason')}"
        assert told["StackStatus"] == expected, stands
        return told.get("StackStatusReason", "")

    def told(self):
        stacks = client("cloudformation").describe_stacks()["Stacks"]
        return next((stack for stack in stacks if stack["StackName"] == self.name), None)

    def status(self):
        told = self.told()
        return told and told["StackStatus"]

    def output(self, name):
        return next(each["OutputValue"] for each in self.told()["Outputs"] if each["OutputKey"] == name)

    def delete(self):
        client("cloudformation").delete_stack(StackName=self.name)
        assert self.status() is None

    def resources(self):
        """How many resources it has as it is deployed."""
        return len([each for each in self.template["Resources"].values() if "Condition" not in each])

    def environments(self):
        """The environments of its functions by logical id."""
        own = {}
        for each in pages("lambda", "list_functions", "Functions"):
            match = re.fullmatch(re.escape(self.name) + r"-([A-Za-z]+Function)-[A-Za-z0-9]+", each["FunctionName"])
            if match:
                # CloudFormation makes texts of numbers.
                own[match[1]] = {name: str(value) for name, value in each["Environment"]["Variables"].items()}
        assert len(own) == sum(r["Type"] == "AWS::Lambda::Function" for r in self.template["Resources"].values())
        return own

    def api(self):
        """Its API: the id, its paths, what its stage serves."""
        api = client("apigateway")
        name = self.name.replace("switchyard", f"switchyard-{self.parameters['Stage']}", 1)
        [found] = [each["id"] for each in api.get_rest_apis()["items"] if each["name"] == name]
        paths = {each["path"]: each for each in api.get_resources(restApiId=found, limit=500)["items"]}
        return found, paths, api.get_stage(restApiId=found, stageName=self.parameters["Stage"])["deploymentId"]


def given(folder):
    """The parameters that a command for AWS wrote."""
    return json.loads((Path(folder) / "parameters.yaml").read_text())


def account():
    """All that there is, by kind and by name."""
    api = client("apigateway")
    apis = [each["id"] for each in api.get_rest_apis()["items"]]
    return {
        "tables": sorted(client("dynamodb").list_tables()["TableNames"]),
        # The first one is the tests' own, with the functions' code in it.
        "buckets": sorted(each["Name"] for each in client("s3").list_buckets()["Buckets"] if each["Name"] != "code"),
        "queues": sorted(url.rsplit("/", 1)[1] for url in client("sqs").list_queues().get("QueueUrls", [])),
        "roles": sorted(each["RoleName"] for each in pages("iam", "list_roles", "Roles")),
        "functions": sorted(each["FunctionName"] for each in pages("lambda", "list_functions", "Functions")),
        "sources": sorted(
            each["UUID"] for each in pages("lambda", "list_event_source_mappings", "EventSourceMappings")
        ),
        "apis": sorted(apis),
        "http apis": sorted(each["ApiId"] for each in client("apigatewayv2").get_apis()["Items"]),
        "topic rules": sorted(each["ruleName"] for each in client("iot").list_topic_rules()["rules"]),
        "domains": sorted(each["domainName"] for each in api.get_domain_names()["items"]),
        "secrets": sorted(each["Name"] for each in pages("secretsmanager", "list_secrets", "SecretList")),
        "parameters": sorted(each["Name"] for each in client("ssm").describe_parameters()["Parameters"]),
        "logs": sorted(each["logGroupName"] for each in pages("logs", "describe_log_groups", "logGroups")),
        "filters": sorted(each["filterName"] for each in client("logs").describe_metric_filters()["metricFilters"]),
        "alarms": sorted(each["AlarmName"] for each in pages("cloudwatch", "describe_alarms", "MetricAlarms")),
        "dashboards": sorted(
            each["DashboardName"] for each in client("cloudwatch").list_dashboards()["DashboardEntries"]
        ),
        "topics": sorted(each["TopicArn"] for each in client("sns").list_topics()["Topics"]),
        "rules": sorted(each["Name"] for each in client("events").list_rules()["Rules"]),
        "exports": sorted(
            f"{each['Name']}={each['Value']}" for each in pages("cloudformation", "list_exports", "Exports")
        ),
    }


def named(found, part):
    """What of an account has a name with this part."""
    return {kind: names for kind, all_of_them in found.items() if (names := [n for n in all_of_them if part in n])}


def texts(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for each in value for text in texts(each)]
    return [value] if isinstance(value, str) else []


def check_references():
    """Whatever names something names what there is."""
    kinds = ("tasks", "sessions", "registry", "identity", "orders", "tenants", "audit")
    tables = {f"switchyard-prod-{kind}" for kind in kinds}
    found = account()
    assert set(found["tables"]) == tables, found["tables"]
    functions = {each["FunctionArn"]: each for each in pages("lambda", "list_functions", "Functions")}
    secrets = {each["ARN"] for each in pages("secretsmanager", "list_secrets", "SecretList")}
    queues = {f"arn:aws:sqs:eu-north-1:123456789012:{name}" for name in found["queues"]}
    known = {"dynamodb": {f"arn:aws:dynamodb:eu-north-1:123456789012:table/{name}" for name in tables}, "sqs": queues}
    known |= {"secretsmanager": secrets, "lambda": set(functions)}
    # The audit's bucket is there only where a parameter asks for it, and its writer's role names it all the same.
    buckets = [*found["buckets"], "switchyard-prod-audit-123456789012-eu-north-1"]
    known["s3"] = {f"arn:aws:s3:::{name}" for name in buckets}
    known["logs"] = {f"arn:aws:logs:eu-north-1:123456789012:log-group:{name}" for name in found["logs"]}

    def arn(text, where):
        kind = text.split(":")[2]
        # An index lies in its table, a stream of lines in its group; a pattern is many names.
        plain = text.split("/index/")[0] if kind == "dynamodb" else text.removesuffix(":*")
        # What lies in a bucket is not there yet.
        plain = plain.split("/")[0] if kind == "s3" else plain
        pattern = re.escape(plain).replace(r"\*", ".*")
        assert any(re.fullmatch(pattern, each) for each in known[kind]), f"{where}: there is no {text}"

    # One more is an operator's.
    of_functions = 0
    for role in found["roles"]:
        for name in client("iam").list_role_policies(RoleName=role)["PolicyNames"]:
            document = client("iam").get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
            for statement in document["Statement"]:
                for resource in texts(statement["Resource"]):
                    if resource != "*":
                        arn(resource, f"{role}: {statement['Sid']}")
            of_functions += "-PurgeRole-" not in role
            assert len(json.dumps(document)) < 10240, f"{role}: the policy is too long"
    assert of_functions == len(functions), "each function has a role with a policy"
    for function in functions.values():
        name, variables = function["FunctionName"], function["Environment"]["Variables"]
        assert function["Role"].rsplit("/", 1)[1] in found["roles"], name
        assert len(json.dumps(variables)) < 4096, f"{name}: the environment is too long"
        for variable, value in variables.items():
            value = str(value)
            assert "${" not in value and "Fn::" not in value, f"{name}: {variable} is {value}"
            if value.startswith("arn:"):
                arn(value, f"{name}: {variable}")
            if variable == "WAKE_QUEUES":
                for url in json.loads(value).values():
                    assert "{tenant}" in url or url.rsplit("/", 1)[1] in found["queues"], f"{name}: {url}"
    for source in pages("lambda", "list_event_source_mappings", "EventSourceMappings"):
        arn(source["EventSourceArn"], "an event source")
        assert source["FunctionArn"] in functions and source["BatchSize"] == 10, source
    for queue in found["queues"]:
        url = client("sqs").get_queue_url(QueueName=queue)["QueueUrl"]
        told = client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        if "RedrivePolicy" in told:
            arn(json.loads(told["RedrivePolicy"])["deadLetterTargetArn"], queue)
        else:
            assert queue.endswith("-dead-letters"), queue
    for rule in found["rules"]:
        [target] = client("events").list_targets_by_rule(Rule=rule)["Targets"]
        arn(target["Arn"], rule)
    for alarm in pages("cloudwatch", "describe_alarms", "MetricAlarms"):
        assert alarm["AlarmActions"] and set(alarm["AlarmActions"]) <= set(found["topics"]), alarm["AlarmName"]
        asked = [alarm, *(each["MetricStat"]["Metric"] for each in alarm.get("Metrics", []) if "MetricStat" in each)]
        for dimension in [each for metric in asked for each in metric.get("Dimensions", [])]:
            kind = {"FunctionName": "functions", "QueueName": "queues"}.get(dimension["Name"])
            assert kind is None or dimension["Value"] in found[kind], f"{alarm['AlarmName']}: {dimension}"
    called = set()
    for api in found["apis"]:
        gateway = client("apigateway")
        for resource in gateway.get_resources(restApiId=api, limit=500)["items"]:
            for method in resource.get("resourceMethods", {}):
                told = gateway.get_integration(restApiId=api, resourceId=resource["id"], httpMethod=method)
                function = told["uri"].split("/functions/")[1].rsplit("/", 1)[0]
                arn(function, resource["path"])
                permitted = json.loads(client("lambda").get_policy(FunctionName=function)["Policy"])["Statement"]
                source = [text for text in texts(permitted) if text.startswith("arn:aws:execute-api")]
                assert source == [f"arn:aws:execute-api:eu-north-1:123456789012:{api}/*"], f"{function}: {source}"
                called.add(function)
        kinds = {each["responseType"] for each in gateway.get_gateway_responses(restApiId=api)["items"]}
        assert len(kinds) == 7, kinds
    assert len(called) == len(functions) - 1, "all but the sweeper are behind an API"


def check_failures(stack, before):
    """A creation that fails leaves nothing behind, and can be repeated."""
    made = stack.resources()
    for number in sorted({0, 1, made // 4, made // 2, made * 3 // 4, made - 1}):
        cloud_engine.fail_after(number)
        why = stack.deploy("ROLLBACK_COMPLETE")
        assert "cannot be made now" in why, f"{stack.name}, after {number} of {made}: {why}"
        left = account()
        assert left == before, f"{stack.name}, after {number} of {made}: {left}"
        stack.delete()


def check_iot(stack):
    """The bridge on IoT Core: its rule, its schedule and its API reach the function, and may; its role names what there is."""
    found = account()
    [function] = [
        each for each in pages("lambda", "list_functions", "Functions") if each["FunctionName"].startswith(stack.name)
    ]
    arn, environment = function["FunctionArn"], function["Environment"]["Variables"]
    assert not [value for value in environment.values() if "${" in str(value) or "Fn::" in str(value)], environment
    [rule_name] = found["topic rules"]
    told = client("iot").get_topic_rule(ruleName=rule_name)
    rule = told["rule"]
    assert rule["actions"] == [{"lambda": {"functionArn": arn}}], rule
    assert "FROM 'a2a/v1/request/switchyard/#'" in rule["sql"] and "${" not in rule["sql"], rule
    assert rule["awsIotSqlVersion"] == "2016-03-23", rule
    [api] = found["http apis"]
    http = client("apigatewayv2")
    [route] = http.get_routes(ApiId=api)["Items"]
    [integration] = http.get_integrations(ApiId=api)["Items"]
    [stage] = http.get_stages(ApiId=api)["Items"]
    assert (route["RouteKey"], route["Target"]) == ("POST /reply", f"integrations/{integration['IntegrationId']}"), route
    assert (integration["IntegrationUri"], integration["PayloadFormatVersion"]) == (arn, "2.0"), integration
    assert (stage["StageName"], stage["AutoDeploy"]) == ("$default", True), stage
    url = f"https://{api}.execute-api.eu-north-1.amazonaws.com/"
    assert environment["BRIDGE_URL"] == stack.output("BridgeUrl") == url, environment
    [schedule] = [name for name in found["rules"] if name.startswith(stack.name)]
    [target] = client("events").list_targets_by_rule(Rule=schedule)["Targets"]
    assert target["Arn"] == arn, target
    # Who may call it: these three, each from one place alone.
    statements = json.loads(client("lambda").get_policy(FunctionName=arn)["Policy"])["Statement"]
    callers = {each["Principal"]["Service"]: texts(each["Condition"]) for each in statements}
    assert set(callers) == {"apigateway.amazonaws.com", "events.amazonaws.com", "iot.amazonaws.com"}, callers
    assert told["ruleArn"] in callers["iot.amazonaws.com"], callers
    place = f"arn:aws:execute-api:eu-north-1:123456789012:{api}/*/POST/reply"
    assert callers["apigateway.amazonaws.com"] == [place], callers
    assert client("events").describe_rule(Name=schedule)["Arn"] in callers["events.amazonaws.com"], callers
    # What it may: its own log and key, and publish; nothing of the platform.
    role = function["Role"].rsplit("/", 1)[1]
    [policy] = client("iam").list_role_policies(RoleName=role)["PolicyNames"]
    document = client("iam").get_role_policy(RoleName=role, PolicyName=policy)["PolicyDocument"]
    secrets = {each["Name"]: each["ARN"] for each in pages("secretsmanager", "list_secrets", "SecretList")}
    may = {each["Sid"]: (each["Action"], each["Resource"]) for each in document["Statement"]}
    topic = "arn:aws:iot:eu-north-1:123456789012:topic/a2a/v1"
    assert may["Replies"] == (["iot:Publish"], f"{topic}/reply/*"), may
    assert may["Cards"] == (["iot:Publish", "iot:RetainPublish"], f"{topic}/discovery/switchyard/*"), may
    key = secrets["switchyard/prod/mqtt-sealing-keys"]
    assert may["OwnKeys"] == (["secretsmanager:GetSecretValue"], key), may
    assert environment["SEALING_KEYS_SECRET"] == key, environment
    assert may["OwnLogs"][1].removesuffix(":*").endswith(":log-group:/switchyard/prod/mqtt_bridge"), may
    assert set(may) == {"Replies", "Cards", "OwnKeys", "OwnLogs"}, may


def walk_iot(stack):
    """The optional stack of IoT Core: made after failures, changed, and gone but for its key."""
    before = account()
    check_failures(stack, before)
    stack.deploy("CREATE_COMPLETE")
    check_iot(stack)
    requesters = '["acme.example","globex.example"]'
    stack.deploy("UPDATE_COMPLETE", Requesters=requesters)
    assert stack.environments()["MqttBridgeFunction"]["MQTT_ORGS"] == requesters
    check_iot(stack)
    stack.delete()
    left = {kind: sorted(set(names) - set(before[kind])) for kind, names in account().items()}
    assert {kind: names for kind, names in left.items() if names} == {"secrets": ["switchyard/prod/mqtt-sealing-keys"]}, left
    # A creation that meets the key fails and leaves it; docs/mqtt.md says how it goes.
    stack.deploy("ROLLBACK_COMPLETE")
    stack.delete()
    client("secretsmanager").delete_secret(SecretId=left["secrets"][0], ForceDeleteWithoutRecovery=True)
    assert account() == before, account()


def check_pool(stack):
    """Each isolated function acts for its tenants as one role, which trusts that function alone; and the API asks who somebody's path is."""
    iam, gateway = client("iam"), client("apigateway")
    isolated = {id: own for id, own in stack.environments().items() if "TENANT_ROLE" in own}
    functions = {each["FunctionName"]: each for each in pages("lambda", "list_functions", "Functions")}
    assert len(isolated) == 5, isolated
    for id, own in isolated.items():
        assert own["TENANCY"] == "isolated" and not any(name.startswith("TENANT_ID") for name in own), own
        [function] = [each for name, each in functions.items() if name.startswith(f"{stack.name}-{id}-")]
        tenants = iam.get_role(RoleName=own["TENANT_ROLE"].rsplit("/", 1)[1])["Role"]["AssumeRolePolicyDocument"]
        [trust] = tenants["Statement"]
        assert trust["Principal"] == {"AWS": function["Role"]}, trust
        role = function["Role"].rsplit("/", 1)[1]
        may = [iam.get_role_policy(RoleName=role, PolicyName=name) for name in iam.list_role_policies(RoleName=role)["PolicyNames"]]
        may = [each for told in may for each in told["PolicyDocument"]["Statement"]]
        sts = {each["Resource"] for each in may if "sts:AssumeRole" in each["Action"]}
        assert sts == {own["TENANT_ROLE"]} and {each["Sid"] for each in may} == {"OwnLogs", "OfTenants"}, may
    api, paths, _ = stack.api()
    [authorizer] = gateway.get_authorizers(restApiId=api)["items"]
    assert (authorizer["type"], authorizer["authorizerResultTtlInSeconds"]) == ("REQUEST", 0), authorizer
    for path, resource in paths.items():
        for method in resource.get("resourceMethods", {}):
            assert "{tenant}" in path, path
            told = gateway.get_method(restApiId=api, resourceId=resource["id"], httpMethod=method)
            # Which authorizer, and what it hands on, moto does not keep: the tests' own gateway does.
            assert told["authorizationType"] == "CUSTOM", (path, told)


def walk_pool(stack):
    """The stack that tenants share: made after failures, changed, and gone."""
    before = account()
    check_failures(stack, before)
    stack.deploy("CREATE_COMPLETE")
    check_pool(stack)
    stack.deploy("UPDATE_COMPLETE", TokensPerDay="1000")
    assert stack.environments()["HostAgentFunction"]["TOKENS_PER_DAY"] == "1000"
    check_pool(stack)
    stack.delete()
    assert account() == before, account()


def check_protection(expected):
    for table in account()["tables"]:
        told = client("dynamodb").describe_table(TableName=table)["Table"]
        assert told["DeletionProtectionEnabled"] == expected, table


def check_moved(stack, old, new):
    """A stack's functions know the new address, or path, and the old one no more."""
    variables = [(f"{id}: {name}", value) for id, own in stack.environments().items() for name, value in own.items()]
    assert not [name for name, value in variables if old in value], f"{stack.name} still has {old}: {variables}"
    assert [name for name, value in variables if new in value], f"{stack.name} does not know {new}: {variables}"


def check_web_acl(stack):
    """A web ACL of somebody's stands before the stage, and goes from there."""
    waf, visible = client("wafv2"), dict(SampledRequestsEnabled=False, CloudWatchMetricsEnabled=False, MetricName="own")
    own = dict(Name=stack.name, Scope="REGIONAL", DefaultAction={"Allow": {}}, VisibilityConfig=visible)
    made = waf.create_web_acl(**own)["Summary"]
    stage = f"arn:aws:apigateway:eu-north-1::/restapis/{stack.api()[0]}/stages/{stack.parameters['Stage']}"
    stack.deploy("UPDATE_COMPLETE", WebAclArn=made["ARN"])
    assert waf.get_web_acl_for_resource(ResourceArn=stage)["WebACL"]["ARN"] == made["ARN"]
    stack.deploy("UPDATE_COMPLETE", WebAclArn="")
    assert "WebACL" not in waf.get_web_acl_for_resource(ResourceArn=stage)


def forget(kept):
    """What `deploy.sh remove-platform --with-data` does once the stack is gone."""
    for table in kept["tables"]:
        client("dynamodb").update_table(TableName=table, DeletionProtectionEnabled=False)
        client("dynamodb").delete_table(TableName=table)
    for bucket in kept["buckets"]:
        client("s3").delete_bucket(Bucket=bucket)
    for secret in kept["secrets"]:
        client("secretsmanager").delete_secret(SecretId=secret, ForceDeleteWithoutRecovery=True)


def older(path):
    """The template as it was some changes ago; none where the history is not here."""

    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    commits = git("log", "-4", "--format=%H", "--", path).split()
    return git("show", f"{commits[-1]}:{path}") if len(commits) > 1 else None


def upgraded(stack, older, new, **changed):
    """A stack that an older template made, after an update by the new one: what held data or was named by others is there."""

    def lasting():
        found = account()
        return {kind: set(found[kind]) for kind in ("tables", "secrets", "queues", "apis", "parameters", "exports")}

    stack.template = older or new
    stack.deploy("CREATE_COMPLETE")
    before = lasting()
    stack.template = new
    stack.deploy("UPDATE_COMPLETE", **changed)
    lost = {kind: names - lasting()[kind] for kind, names in before.items()}
    assert not any(lost.values()), f"{stack.name}: the upgrade takes away {lost}"


def main(platform_folder, *tenant_folders):
    started = time.monotonic()

    def step(text):
        print(f"{time.monotonic() - started:5.1f} s  {text}", flush=True)

    cloud_engine.start()
    platform_template = cloud_engine.transformed(ROOT / "template.yaml")
    tenant_template = cloud_engine.transformed(ROOT / "infra/tenant.yaml")
    platform = Stack("switchyard", platform_template, given(platform_folder))
    tenants = [Stack("", tenant_template, given(folder)) for folder in tenant_folders]
    for tenant in tenants:
        tenant.name = f"switchyard-{tenant.parameters['Tenant']}"
    acme, other = tenants
    texts_before = [older("template.yaml"), older("infra/tenant.yaml")]
    older_platform, older_tenant = [text and cloud_engine.transformed_text(text) for text in texts_before]
    if None in texts_before:
        print("NOT UPGRADED FROM AN OLDER TEMPLATE: this clone has no history of it", flush=True)
    empty = account()
    assert not any(names for kind, names in empty.items()), empty
    step(f"transformed: {len(platform_template['Resources'])} resources, {len(tenant_template['Resources'])} a tenant")

    # The first deployment of deploy.sh, then its second one.
    platform.parameters["ProtectTables"] = "false"
    check_failures(platform, empty)
    platform.deploy("CREATE_COMPLETE")
    check_protection(False)
    platform.delete()
    forget(account())
    assert account() == empty, account()
    upgraded(platform, older_platform, platform_template, ProtectTables="true")
    check_protection(True)
    step("the platform is there; its creation had failed at six places before, and left nothing")

    iot = Stack(
        "switchyard-mqtt",
        cloud_engine.transformed(ROOT / "infra/mqtt-iot.yaml"),
        {
            "IotHost": "abc123-ats.iot.eu-north-1.amazonaws.com",
            "Agents": json.dumps([{"address": "switchyard/platform/weather", "url": platform.output("WeatherAgentUrl")}]),
            "Requesters": '["acme.example"]',
        },
    )
    walk_iot(iot)
    step("the stack of IoT Core was there, with what it may and who may call it, and is gone")

    pool = {"Stage": "prod", "PlatformStack": "switchyard", "PlatformUrl": "/switchyard/prod/url"}
    pool |= {"PublicUrl": "https://pool.example.com"}
    walk_pool(Stack("switchyard-pool", cloud_engine.transformed(ROOT / "infra/pool.yaml"), pool))
    step("the pool was there, with a role of its tenants' for each function, and is gone")

    before = account()
    check_failures(acme, before)
    for tenant in tenants:
        upgraded(tenant, older_tenant, tenant_template)
    check_references()
    step("two tenants are there; whatever names something names what there is")

    # Another path is a matter of the function's: no path is in the API, which is not deployed anew.
    for stack, parameter, function, output in [
        (platform, "WeatherPath", "WeatherAgentFunction", "WeatherAgentUrl"),
        (acme, "HostPath", "HostAgentFunction", "HostAgentUrl"),
    ]:
        old, new, served = stack.parameters[parameter], "f" * 32, stack.api()
        stack.deploy("UPDATE_COMPLETE", **{parameter: new})
        assert stack.output(output).endswith(f"/{new}"), stack.output(output)
        assert stack.environments()[function]["BASE_PATH"].endswith(f"/{new}")
        check_moved(stack, old, new)
        assert stack.api() == served and not any(old in path or new in path for path in served[1])
    # A rotation of keys starts every function anew, and changes nothing else.
    for stack in (platform, acme):
        served = stack.api()
        stack.deploy("UPDATE_COMPLETE", KeysEdition="0123456789abcdef2")
        editions = {own["KEYS_EDITION"] for own in stack.environments().values()}
        assert editions == {"0123456789abcdef2"}, editions
        assert stack.api() == served
        assert stack.output("ApiHost").startswith(f"{served[0]}.execute-api.")
    # Documents before the path are each the function's that has them.
    for stack, document in [
        (platform, "/.well-known/{proxy+}"),
        (acme, "/.well-known/oauth-protected-resource/a/host/{proxy+}"),
        (acme, "/.well-known/oauth-protected-resource/a/horizon/{proxy+}"),
    ]:
        assert "ANY" in stack.api()[1][document]["resourceMethods"], document
    step("paths of agents and keys are changed")

    # The platform moves: its exports stay, tenants that are deployed again follow.
    first = platform.output("RegistryUrl").removesuffix("/registry")
    exports = account()["exports"]
    places = [
        ("https://agents.example.com", {"PublicUrl": "https://agents.example.com"}),
        (
            "https://platform.example.net",
            {"PublicUrl": "", "DomainName": "platform.example.net", "CertificateArn": CERTIFICATE},
        ),
        (first, {"DomainName": "", "CertificateArn": ""}),
    ]
    was = first
    for place, parameters in places:
        platform.deploy("UPDATE_COMPLETE", **parameters)
        assert platform.output("RegistryUrl") == f"{place}/registry"
        check_moved(platform, was, place)
        now = account()["exports"]
        assert now == exports, f"an export changed, which it could not once it is imported: {now}"
        for tenant in tenants:
            assert was in str(tenant.environments())
            tenant.deploy("UPDATE_COMPLETE")
            check_moved(tenant, was, place)
        # CloudFront asks at AWS's own address, which is off where a domain stands alone.
        assert (platform.api()[0] in cloud_engine.Stage.closed) == ("DomainName" in parameters and place != first), place
        domains = account()["domains"]
        assert domains == ([parameters["DomainName"]] if parameters.get("DomainName") else []), domains
        if domains:
            api, _, _ = platform.api()
            [mapping] = client("apigateway").get_base_path_mappings(domainName=domains[0])["items"]
            assert (mapping["restApiId"], mapping["stage"], mapping["basePath"]) == (api, "prod", "(none)"), mapping
            assert platform.output("DomainTarget").endswith(".amazonaws.com")
        was = place
    # A tenant moves by itself.
    domain = {"DomainName": "acme.example.net", "CertificateArn": CERTIFICATE}
    own = acme.output("BaseUrl")
    acme.deploy("UPDATE_COMPLETE", **domain)
    assert acme.output("BaseUrl") == "https://acme.example.net"
    check_moved(acme, own, "https://acme.example.net")
    assert acme.api()[0] in cloud_engine.Stage.closed
    check_web_acl(platform)
    check_web_acl(acme)
    check_references()
    step("platform and tenant moved to addresses and domains of their own, and the platform back")

    # What a tenant imports cannot go.
    try:
        platform.delete()
        raise AssertionError("the platform went while tenants are over it")
    except client("cloudformation").exceptions.ClientError as fault:
        assert "in use by" in str(fault), fault

    # A tenant goes with everything, and comes back under its name.
    acme.delete()
    assert named(account(), "acme") == {}, named(account(), "acme")
    acme.deploy("CREATE_COMPLETE", DomainName="", CertificateArn="")
    check_references()
    for tenant in tenants:
        tenant.delete()
    assert account() == before, account()
    step("tenants went without a trace; one had come back before")

    # The platform's tables, bucket and secrets outlive it; a creation that meets them fails, and touches none of them.
    platform.delete()
    kept = account()
    assert {kind for kind, names in kept.items() if names} == {"tables", "buckets", "secrets"}, kept
    platform.deploy("ROLLBACK_COMPLETE", ProtectTables="false")
    assert account() == kept, account()
    platform.delete()
    check_protection(True)
    forget(kept)
    assert account() == empty, account()
    platform.deploy("CREATE_COMPLETE")
    for tenant in tenants:
        tenant.deploy("CREATE_COMPLETE")
    check_references()
    step("the platform was taken away, and is there again under the same names")


if __name__ == "__main__":
    main(*sys.argv[1:])
