//! The stacks, deployed with parameters that are made up.

use std::collections::BTreeMap;

use crate::{Stack, Template};

const SLUG: &str = "0123456789abcdef0123456789abcdef";
const OTHER_SLUG: &str = "fedcba9876543210fedcba9876543210";
const THIRD_SLUG: &str = "00112233445566778899aabbccddeeff";
const FOURTH_SLUG: &str = "ffeeddccbbaa99887766554433221100";

/// The platform's stack.
#[must_use]
pub fn platform() -> Stack {
    let given = [
        ("WeatherPath", SLUG),
        ("ReportPath", OTHER_SLUG),
        ("AirbnbPath", THIRD_SLUG),
        ("CalendarPath", FOURTH_SLUG),
        (
            "OperatorIssuer",
            r#"{"issuer":"https://operator.example","tenant":null,"keys":[]}"#,
        ),
    ];
    Stack::new(Template::platform(), "switchyard", &given)
}

/// The stack of a tenant of this name, over the platform's.
#[must_use]
pub fn tenant(name: &str) -> Stack {
    let given = [
        ("Tenant", name),
        ("TenantPrefix", name),
        ("HostPath", SLUG),
        ("HorizonPath", OTHER_SLUG),
        (
            "SessionPublicKey",
            r#"{"kty":"EC","crv":"P-256","x":"YQ","y":"YQ"}"#,
        ),
    ];
    Stack::new(Template::tenant(), &format!("switchyard-{name}"), &given).over(&platform())
}

/// The stack of the pool, over the platform's.
#[must_use]
pub fn pool() -> Stack {
    Stack::new(Template::pool(), "switchyard-pool", &[]).over(&platform())
}

/// Every stack that has an API of its own.
#[must_use]
pub fn all() -> [Stack; 3] {
    [platform(), tenant("acme"), pool()]
}

/// The stacks with their functions: the platform's, and those of a tenant with a stack of its own.
#[must_use]
pub fn functions() -> Vec<(Stack, String)> {
    of([platform(), tenant("acme")])
}

/// The same with those of the pool.
#[must_use]
pub fn functions_of_all() -> Vec<(Stack, String)> {
    of(all())
}

/// The functions of these stacks.
#[must_use]
pub fn of(stacks: impl IntoIterator<Item = Stack>) -> Vec<(Stack, String)> {
    stacks
        .into_iter()
        .flat_map(|stack| {
            let ids: Vec<String> = stack
                .template
                .functions()
                .keys()
                .map(|id| (*id).to_owned())
                .collect();
            ids.into_iter().map(move |id| (stack.clone(), id))
        })
        .collect()
}

/// The roles that functions of a stack act as for a tenant, by function.
#[must_use]
pub fn tenant_roles(stack: &Stack) -> BTreeMap<String, String> {
    let functions = stack.template.functions();
    let named = functions.iter().filter_map(|(function, told)| {
        let role = &told["Environment"]["Variables"]["TENANT_ROLE"]["Fn::GetAtt"][0];
        Some(((*function).to_owned(), role.as_str()?.to_owned()))
    });
    named.collect()
}

/// The role that does a function's work: the one that it acts as for a tenant, else its own.
#[must_use]
pub fn working_role(stack: &Stack, function: &str) -> String {
    let own = stack.template.functions()[function]["Role"]["Fn::GetAtt"][0].as_str();
    let of_tenant = tenant_roles(stack).remove(function);
    of_tenant.unwrap_or_else(|| own.expect("a role of its own").to_owned())
}

/// The tags of a session for a tenant, whose name and prefix are the same.
#[must_use]
pub fn tags(tenant: &str) -> BTreeMap<String, String> {
    let tag = |name: &str| (name.to_owned(), tenant.to_owned());
    BTreeMap::from(["tenant", "tenant_name"].map(tag))
}

/// Whether a role may do something anywhere.
#[must_use]
pub fn may(stack: &Stack, function: &str, action: &str) -> bool {
    let roles = stack.template.of_type("AWS::IAM::Role");
    let text = roles[working_role(stack, function).as_str()]["Policies"].to_string();
    text.contains(&format!("\"{action}\""))
}
