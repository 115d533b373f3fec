//! Both stacks, deployed with parameters that are made up.

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

/// Both stacks with their functions.
#[must_use]
pub fn functions() -> Vec<(Stack, String)> {
    [platform(), tenant("acme")]
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

/// Whether a role may do something anywhere.
#[must_use]
pub fn may(stack: &Stack, function: &str, action: &str) -> bool {
    let roles = stack.template.of_type("AWS::IAM::Role");
    let role = stack.template.functions()[function]["Role"]["Fn::GetAtt"][0]
        .as_str()
        .unwrap();
    let text = roles[role]["Policies"].to_string();
    text.contains(&format!("\"{action}\""))
}
