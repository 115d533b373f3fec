"""A second CloudFormation, not ours: moto's server, with what it lacks for our templates.

Types of resources that moto's CloudFormation does not make are made by calls to moto's own services, whose parameters
botocore checks by AWS's description of them. Rules of CloudFormation that moto does not know are added, each with the
sentence of AWS's documentation that it follows.
"""

import copy
import io
import json
import logging
import os
import zipfile

os.environ.update(
    AWS_ACCESS_KEY_ID="testing",
    AWS_SECRET_ACCESS_KEY="testing",
    AWS_DEFAULT_REGION="eu-north-1",
    AWS_EC2_METADATA_DISABLED="true",
    # Nothing is asked but this machine.
    NO_PROXY="127.0.0.1",
)

import boto3
from moto.apigateway.models import Deployment, RestAPI
from moto.cloudformation import models, parsing
from moto.cloudformation.exceptions import ValidationError
from moto.core.common_models import CloudFormationModel
from moto.iam.models import Role
from moto.iam.policy_validation import IAMPolicyDocumentValidator
from moto.ssm.models import Parameter as SsmParameter
from moto.server import ThreadedMotoServer
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator
from samtranslator.yaml_helper import yaml_parse

# One line for each request else.
logging.getLogger("werkzeug").setLevel(logging.WARNING)
# It misses a metric of its own.
logging.getLogger("samtranslator").setLevel(logging.ERROR)
SERVER = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)


def start():
    """Starts the server, with something that functions can be made of."""
    SERVER.start()
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("bootstrap", "#!/bin/sh\n")
    location = {"LocationConstraint": os.environ["AWS_DEFAULT_REGION"]}
    client("s3").create_bucket(Bucket="code", CreateBucketConfiguration=location)
    client("s3").put_object(Bucket="code", Key="function.zip", Body=code.getvalue())


def client(service):
    """A client of a service of the server."""
    host, port = SERVER.get_host_and_port()
    return boto3.client(service, endpoint_url=f"http://{host}:{port}")


def transformed(path):
    """A template as CloudFormation sees it after the transformation, by AWS's own translator."""
    with open(path) as file:
        return transformed_text(file.read())


def transformed_text(text):
    template = yaml_parse(text)
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            # What `sam package` would put there.
            resource["Properties"]["CodeUri"] = "s3://code/function.zip"
    defaults = {name: told["Default"] for name, told in template["Parameters"].items() if "Default" in told}
    return Translator({}, Parser(), boto_session=boto3.Session()).translate(template, parameter_values=defaults)


# Types that moto's CloudFormation does not make: how each is made (what it is referred by, and its attributes), changed
# where our templates change it, and deleted.


def _lower(properties):
    return {name[0].lower() + name[1:]: value for name, value in properties.items()}


class Secret:
    def create(name, p):
        # Without a value, as the template has none.
        return client("secretsmanager").create_secret(**p)["ARN"], {}

    def delete(ref, p):
        client("secretsmanager").delete_secret(SecretId=ref, ForceDeleteWithoutRecovery=True)


class Stage:
    # Of which APIs AWS's own address is off. "This setting takes affect when you update any setting on any stage."
    closed = set()

    def create(name, p):
        p = dict(p)
        settings = p.pop("MethodSettings")
        assert all(each["ResourcePath"] == "/*" and each["HttpMethod"] == "*" for each in settings)
        Stage.log(p)
        client("apigateway").create_stage(**_lower(p))
        Stage.settle(p["RestApiId"])
        return p["StageName"], {}

    def settle(api):
        told = client("apigateway").get_rest_api(restApiId=api)
        (Stage.closed.add if told["disableExecuteApiEndpoint"] else Stage.closed.discard)(api)

    def log(p):
        """API Gateway writes lines under the account's role, and only into a group that is there."""
        logged = p.pop("AccessLogSetting", None)
        if logged:
            name = logged["DestinationArn"].split(":log-group:")[1]
            groups = client("logs").describe_log_groups(logGroupNamePrefix=name)["logGroups"]
            assert [each["logGroupName"] for each in groups] == [name], (name, groups)
            assert Account.role, "no role to write logs with"

    def update(ref, p):
        Stage.log(dict(p))
        change = {"op": "replace", "path": "/deploymentId", "value": p["DeploymentId"]}
        client("apigateway").update_stage(restApiId=p["RestApiId"], stageName=ref, patchOperations=[change])
        Stage.settle(p["RestApiId"])

    def delete(ref, p):
        client("apigateway").delete_stage(restApiId=p["RestApiId"], stageName=ref)


class Account:
    """What API Gateway knows of the whole account; it outlives the stack."""

    role = None

    def create(name, p):
        Account.role = p["CloudWatchRoleArn"]
        return name, {}

    def delete(ref, p):
        pass


class GatewayResponse:
    def create(name, p):
        client("apigateway").put_gateway_response(**_lower(p))
        return name, {}

    def delete(ref, p):
        client("apigateway").delete_gateway_response(restApiId=p["RestApiId"], responseType=p["ResponseType"])


class DomainName:
    def create(name, p):
        p = dict(p, EndpointConfiguration=_lower(p["EndpointConfiguration"]))
        made = client("apigateway").create_domain_name(**_lower(p))
        return p["DomainName"], {"RegionalDomainName": made["regionalDomainName"]}

    def delete(ref, p):
        client("apigateway").delete_domain_name(domainName=ref)


class BasePathMapping:
    def create(name, p):
        client("apigateway").create_base_path_mapping(**_lower(p))
        return name, {}

    def delete(ref, p):
        client("apigateway").delete_base_path_mapping(domainName=p["DomainName"], basePath="(none)")


class WebAclAssociation:
    def create(name, p):
        client("wafv2").associate_web_acl(**p)
        return name, {}

    def delete(ref, p):
        client("wafv2").disassociate_web_acl(ResourceArn=p["ResourceArn"])


class Alarm:
    def create(name, p):
        client("cloudwatch").put_metric_alarm(AlarmName=name, **p)
        return name, {}

    def update(ref, p):
        client("cloudwatch").put_metric_alarm(AlarmName=ref, **p)

    def delete(ref, p):
        client("cloudwatch").delete_alarms(AlarmNames=[ref])


class MetricFilter:
    def create(name, p):
        changes = [_lower(each) for each in p["MetricTransformations"]]
        client("logs").put_metric_filter(filterName=name, **_lower(dict(p, MetricTransformations=changes)))
        return name, {}

    def delete(ref, p):
        client("logs").delete_metric_filter(filterName=ref, logGroupName=p["LogGroupName"])


class Subscription:
    def create(name, p):
        return client("sns").subscribe(**p, ReturnSubscriptionArn=True)["SubscriptionArn"], {}

    def delete(ref, p):
        client("sns").unsubscribe(SubscriptionArn=ref)


class EventInvokeConfig:
    def create(name, p):
        client("lambda").put_function_event_invoke_config(**p)
        return name, {}

    def update(ref, p):
        client("lambda").put_function_event_invoke_config(**p)

    def delete(ref, p):
        of = {name: p[name] for name in ("FunctionName", "Qualifier")}
        client("lambda").delete_function_event_invoke_config(**of)


def _lower_all(value):
    if isinstance(value, list):
        return [_lower_all(each) for each in value]
    return {n[0].lower() + n[1:]: _lower_all(v) for n, v in value.items()} if isinstance(value, dict) else value


class HttpApi:
    def create(name, p):
        return client("apigatewayv2").create_api(**p)["ApiId"], {}

    def delete(ref, p):
        client("apigatewayv2").delete_api(ApiId=ref)


class HttpIntegration:
    def create(name, p):
        return client("apigatewayv2").create_integration(**p)["IntegrationId"], {}

    def delete(ref, p):
        client("apigatewayv2").delete_integration(ApiId=p["ApiId"], IntegrationId=ref)


class HttpRoute:
    def create(name, p):
        return client("apigatewayv2").create_route(**p)["RouteId"], {}

    def delete(ref, p):
        client("apigatewayv2").delete_route(ApiId=p["ApiId"], RouteId=ref)


class HttpStage:
    def create(name, p):
        return client("apigatewayv2").create_stage(**p)["StageName"], {}

    def delete(ref, p):
        client("apigatewayv2").delete_stage(ApiId=p["ApiId"], StageName=ref)


class TopicRule:
    def create(name, p):
        # IoT Core's rules have names of letters, digits and underscores.
        name = name.replace("-", "_")
        client("iot").create_topic_rule(ruleName=name, topicRulePayload=_lower_all(p["TopicRulePayload"]))
        return name, {}

    def update(ref, p):
        client("iot").replace_topic_rule(ruleName=ref, topicRulePayload=_lower_all(p["TopicRulePayload"]))

    def delete(ref, p):
        client("iot").delete_topic_rule(ruleName=ref)


class BucketPolicy:
    def create(name, p):
        client("s3").put_bucket_policy(Bucket=p["Bucket"], Policy=json.dumps(p["PolicyDocument"]))
        return p["Bucket"], {}

    def delete(ref, p):
        client("s3").delete_bucket_policy(Bucket=ref)


class Authorizer:
    def create(name, p):
        return client("apigateway").create_authorizer(**_lower(p))["id"], {}

    def delete(ref, p):
        client("apigateway").delete_authorizer(restApiId=p["RestApiId"], authorizerId=ref)


class RolePolicy:
    def create(name, p):
        client("iam").put_role_policy(**dict(p, PolicyDocument=json.dumps(p["PolicyDocument"])))
        return name, {}

    def delete(ref, p):
        client("iam").delete_role_policy(RoleName=p["RoleName"], PolicyName=p["PolicyName"])


LACKING = {
    "AWS::SecretsManager::Secret": (Secret, "Name"),
    "AWS::ApiGateway::Stage": (Stage, ""),
    "AWS::ApiGateway::Account": (Account, ""),
    "AWS::ApiGateway::GatewayResponse": (GatewayResponse, ""),
    "AWS::ApiGateway::DomainName": (DomainName, ""),
    "AWS::ApiGateway::BasePathMapping": (BasePathMapping, ""),
    "AWS::WAFv2::WebACLAssociation": (WebAclAssociation, ""),
    "AWS::CloudWatch::Alarm": (Alarm, ""),
    "AWS::Logs::MetricFilter": (MetricFilter, ""),
    "AWS::SNS::Subscription": (Subscription, ""),
    "AWS::Lambda::EventInvokeConfig": (EventInvokeConfig, ""),
    "AWS::ApiGateway::Authorizer": (Authorizer, ""),
    "AWS::IAM::RolePolicy": (RolePolicy, ""),
    "AWS::S3::BucketPolicy": (BucketPolicy, ""),
    "AWS::ApiGatewayV2::Api": (HttpApi, ""),
    "AWS::ApiGatewayV2::Integration": (HttpIntegration, ""),
    "AWS::ApiGatewayV2::Route": (HttpRoute, ""),
    "AWS::ApiGatewayV2::Stage": (HttpStage, ""),
    "AWS::IoT::TopicRule": (TopicRule, "RuleName"),
}


def _model(kind, of, named_by):
    class Made(CloudFormationModel):
        # Moto reads the service out of it.
        __module__ = "moto.cloudformation.models"

        def __init__(self, ref, attributes, properties):
            self.physical_resource_id = ref
            self.attributes = attributes
            self.properties = properties

        @staticmethod
        def cloudformation_name_type():
            return named_by

        @staticmethod
        def cloudformation_type():
            return kind

        @classmethod
        def has_cfn_attr(cls, attribute):
            return kind == "AWS::ApiGateway::DomainName" and attribute == "RegionalDomainName"

        def get_cfn_attribute(self, attribute):
            return self.attributes[attribute]

        @classmethod
        def create_from_cloudformation_json(cls, name, told, account, region, **_):
            properties = copy.deepcopy(told["Properties"])
            return cls(*of.create(name, properties), properties)

        @classmethod
        def update_from_cloudformation_json(
            cls, original_resource, new_resource_name, cloudformation_json, account_id, region_name
        ):
            properties = copy.deepcopy(cloudformation_json["Properties"])
            of.update(original_resource.physical_resource_id, properties)
            original_resource.properties = properties
            return original_resource

        def delete(self, account, region):
            of.delete(self.physical_resource_id, self.properties)

    return Made


MODELS = [_model(kind, of, named_by) for kind, (of, named_by) in LACKING.items()]



def _put_policy(role, name, document):
    """Moto's CloudFormation puts a policy as it stands; here its own judge of documents looks at it first."""
    document = document if isinstance(document, str) else json.dumps(document)
    IAMPolicyDocumentValidator(document).validate()
    role.policies[name] = document


def _close(api, properties):
    """Moto's CloudFormation does not know that an API has AWS's own address, or has it no more."""
    api.disableExecuteApiEndpoint = properties.get("DisableExecuteApiEndpoint", False)
    return api


def _update_api(cls, original_resource, new_resource_name, cloudformation_json, account_id, region_name):
    return _close(original_resource, cloudformation_json["Properties"])


_create_api = RestAPI.create_from_cloudformation_json.__func__
RestAPI.create_from_cloudformation_json = classmethod(
    lambda cls, name, told, *args, **kwargs: _close(_create_api(cls, name, told, *args, **kwargs), told["Properties"])
)
RestAPI.update_from_cloudformation_json = classmethod(_update_api)
Role.put_policy = _put_policy
Deployment.physical_resource_id = property(lambda self: self.id)
RestAPI.delete = lambda self, account, region: client("apigateway").delete_rest_api(restApiId=self.id)
SsmParameter.get_cfn_attribute = lambda self, attribute: {"Value": self.value, "Type": self.parameter_type}[attribute]
SsmParameter.has_cfn_attr = classmethod(lambda cls, attribute: attribute in ("Value", "Type"))


# What CloudFormation does and moto does not.

_resolve = parsing.parse_resource_and_generate_name
_fails = []


def fail_after(made):
    """The next resource cannot be made once so many of them are."""
    _fails[:] = [made]


def _remembering(logical_id, resource_json, resources_map):
    if _fails:
        if not _fails[0]:
            _fails.clear()
            raise ValidationError(message=f"{logical_id} cannot be made now")
        _fails[0] -= 1
    found = _resolve(logical_id, resource_json, resources_map)
    assert found is not None, f"{resource_json['Type']}: neither moto nor this makes it"
    remembered = resources_map.__dict__.setdefault("remembered", {})
    remembered[logical_id] = copy.deepcopy(found[1]["Properties"])
    return found


def _exists(resources, name):
    return resources._parsed_resources.get(name) is not None


def _table(resources, name, properties):
    """Of a table our templates change these alone; moto has no change of one, and knows no warm throughput."""
    before = resources.remembered[name]
    changed = {key for key in before | properties if before.get(key) != properties.get(key)}
    assert changed <= {"DeletionProtectionEnabled", "WarmThroughput"}, f"{name}: {changed}"
    protects = {"DeletionProtectionEnabled": properties["DeletionProtectionEnabled"]}
    client("dynamodb").update_table(TableName=properties["TableName"], **protects)


def _update(resources, template, parameters=None):
    """What resolves to something else than before is changed, whichever way the new value comes to it; a resource whose
    condition holds no longer is deleted, one whose condition begins to hold is made.

    "CloudFormation updates resources based on differences between what you submit and the stack's current template."
    """
    before = resources._resource_json_map
    resources._template = template
    resources._resource_json_map = template["Resources"]
    if parameters is not None:
        resources.input_parameters = parameters
    resources.load_parameters()
    resources.load_conditions()
    conditions = resources.lazy_condition_map
    told = template["Resources"]
    wanted = [name for name in told if "Condition" not in told[name] or conditions[told[name]["Condition"]]]
    for _ in range(10):
        changed = False
        for name in wanted:
            if not _exists(resources, name):
                resources._parsed_resources.pop(name, None)
                resources[name]
                changed = True
                continue
            kind, resolved, physical = _resolve(name, copy.deepcopy(told[name]), resources)
            properties = resolved["Properties"]
            if properties == resources.remembered[name]:
                continue
            changed = True
            if resolved["Type"] == "AWS::DynamoDB::Table":
                _table(resources, name, properties)
            else:
                abstract = hasattr(kind.update_from_cloudformation_json, "__isabstractmethod__")
                assert not abstract, f"{name}: moto changes no {resolved['Type']}"
                made = kind.update_from_cloudformation_json(
                    original_resource=resources._parsed_resources[name],
                    new_resource_name=physical,
                    cloudformation_json=copy.deepcopy(resolved),
                    account_id=resources._account_id,
                    region_name=resources._region_name,
                )
                made.cf_resource_type, made.logical_resource_id = resolved["Type"], name
                resources._parsed_resources[name] = made
            resources.remembered[name] = copy.deepcopy(properties)
        if not changed:
            break
    else:
        raise AssertionError("the update does not come to rest")
    # What is not there any more goes last.
    for name in reversed([name for name in before if name not in wanted and _exists(resources, name)]):
        resources._delete_resource(resources._parsed_resources.pop(name), before[name])


def _delete_all(resources):
    """What depends on something goes before it."""
    for name in reversed(list(resources._parsed_resources)):
        told = resources._resource_json_map.get(name)
        if told is None or resources._parsed_resources[name] is None or told.get("DeletionPolicy") == "Retain":
            continue
        resources._delete_resource(resources._parsed_resources[name], told)
        resources._parsed_resources.pop(name)


class _Nothing:
    """The outputs of a stack that did not come into being."""

    exports = ()

    def values(self):
        return ()


_create_stack = models.CloudFormationBackend.create_stack
_update_stack = models.CloudFormationBackend.update_stack
_delete_stack = models.CloudFormationBackend.delete_stack


def _create(backend, name, *args, **kwargs):
    """A creation that fails is taken back, with all that it had made.

    "RetainExceptOnCreate behaves like Retain for stack operations, except for the stack operation that initially created
    the resource."
    """
    before = set(backend.stacks)
    try:
        return _create_stack(backend, name, *args, **kwargs)
    except Exception as fault:
        # Moto makes what exports name before it makes the rest.
        found = set(backend.stacks) - before
        if not found:
            raise
        stack = backend.stacks[found.pop()]
        for export in [export for export in backend.exports if export.startswith(f"{name}-")]:
            backend.exports.pop(export)
        stack.output_map = _Nothing()
        stack.resource_map.delete()
        stack.status = "ROLLBACK_COMPLETE"
        stack.status_reason = str(fault)
        return stack


def _imports(stack, told=None):
    """The exports that a stack's template imports."""
    told = stack.template_dict if told is None else told
    if isinstance(told, list):
        return set().union(*(_imports(stack, each) for each in told))
    if not isinstance(told, dict):
        return set()
    if "Fn::ImportValue" in told:
        return {parsing.clean_json(told["Fn::ImportValue"], stack.resource_map)}
    return _imports(stack, list(told.values()))


def _in_use(backend, name, exports):
    """What is imported stays as it is.

    "After another stack imports an output value, you can't delete the stack that is exporting the output value or modify
    the exported output value."
    """
    others = [stack for stack in backend.stacks.values() if stack.name != name and stack.status != "ROLLBACK_COMPLETE"]
    for stack in others:
        if used := exports & _imports(stack):
            raise ValidationError(message=f"Export {sorted(used)[0]} cannot be changed as it is in use by {stack.name}")


def _change(backend, name, template, role_arn, parameters, tags):
    before = {export.name: export.value for export in backend.get_stack(name).exports}
    stack = _update_stack(backend, name, template, role_arn, parameters, tags)
    after = {export.name: export.value for export in stack.exports}
    _in_use(backend, name, {export for export in before if after.get(export) != before[export]})
    for export in before:
        backend.exports.pop(export)
    backend.exports.update({export.name: export for export in stack.exports})
    return stack


def _delete(backend, name):
    for stack in [stack for stack in backend.stacks.values() if name in (stack.name, stack.stack_id)]:
        _in_use(backend, stack.name, {export.name for export in stack.exports})
        for resource in stack.resource_map._resource_json_map.values():
            if resource.get("DeletionPolicy") == "RetainExceptOnCreate":
                resource["DeletionPolicy"] = "Retain"
    return _delete_stack(backend, name)


parsing.parse_resource_and_generate_name = _remembering
parsing.ResourceMap.update = _update
parsing.ResourceMap.delete = _delete_all
models.CloudFormationBackend.create_stack = _create
models.CloudFormationBackend.update_stack = _change
models.CloudFormationBackend.delete_stack = _delete
