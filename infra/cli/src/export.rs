//! What tasks cost, as files for other programs: CSV of our own rows, and FOCUS 1.2 (the FinOps Open Cost and Usage Specification).
//! Of its columns there are all that are mandatory, and those of the others that a row has something for; custom ones come last.

use chrono::{Days, NaiveDate};
use store::Spent;

use super::Failure;

/// The columns of FOCUS 1.2, in their order in the file: by the alphabet.
pub(super) const FOCUS: [&str; 31] = [
    "BilledCost",
    "BillingAccountId",
    "BillingAccountName",
    "BillingCurrency",
    "BillingPeriodEnd",
    "BillingPeriodStart",
    "ChargeCategory",
    "ChargeClass",
    "ChargeDescription",
    "ChargeFrequency",
    "ChargePeriodEnd",
    "ChargePeriodStart",
    "ConsumedQuantity",
    "ConsumedUnit",
    "ContractedCost",
    "EffectiveCost",
    "InvoiceIssuerName",
    "ListCost",
    "PricingQuantity",
    "PricingUnit",
    "ProviderName",
    "PublisherName",
    "ResourceId",
    "ResourceType",
    "ServiceCategory",
    "ServiceName",
    "ServiceSubcategory",
    "SubAccountId",
    "SubAccountType",
    "Tags",
    "x_FailedTasks",
];

/// Who provides what is billed.
const PROVIDER: &str = "Switchyard";

/// A row of an export: of a task's owner and agent, or what belongs to no task.
pub(super) struct Row {
    pub(super) tenant: String,
    pub(super) day: NaiveDate,
    /// `None`: shared.
    pub(super) of: Option<(String, String)>,
    pub(super) tasks: u64,
    pub(super) failed: u64,
    pub(super) micro_dollars: u64,
}

impl Row {
    pub(super) fn of(tenant: &str, spent: &Spent) -> Self {
        Self {
            tenant: tenant.to_owned(),
            day: spent.day,
            of: Some((spent.owner.to_string(), spent.agent.to_string())),
            tasks: spent.tasks,
            failed: spent.failed,
            micro_dollars: spent.micro_dollars,
        }
    }

    fn dollars(&self) -> String {
        dollars(self.micro_dollars)
    }

    fn focus(&self) -> Option<[String; 31]> {
        let month = self
            .day
            .format("%Y-%m-01")
            .to_string()
            .parse::<NaiveDate>()
            .ok()?;
        let next = month.checked_add_months(chrono::Months::new(1))?;
        let moment = |day: NaiveDate| format!("{day}T00:00:00Z");
        let (tenant, cost) = (self.tenant.as_str(), self.dollars());
        let (owner, agent) = self.of.clone().unwrap_or_default();
        let what = match &self.of {
            Some((_, agent)) => format!("Tasks of {agent}"),
            None => "What belongs to no task".to_owned(),
        };
        let kind = |kind: &str| self.of.as_ref().map_or(String::new(), |_| kind.to_owned());
        let plain = |text: &str| text.to_owned();
        Some([
            cost.clone(),
            plain(tenant),
            plain(tenant),
            plain("USD"),
            moment(next),
            moment(month),
            plain("Usage"),
            // No correction.
            String::new(),
            what,
            plain("Usage-Based"),
            moment(self.day.checked_add_days(Days::new(1))?),
            moment(self.day),
            self.tasks.to_string(),
            plain("Tasks"),
            cost.clone(),
            cost.clone(),
            plain(PROVIDER),
            cost,
            self.tasks.to_string(),
            plain("Tasks"),
            plain(PROVIDER),
            plain(PROVIDER),
            agent,
            kind("Agent"),
            plain("AI and Machine Learning"),
            plain(PROVIDER),
            plain("Bots"),
            owner,
            kind("User"),
            serde_json::json!({ "tenant": tenant }).to_string(),
            self.failed.to_string(),
        ])
    }
}

/// Millionths of a dollar as dollars.
pub(super) fn dollars(micro: u64) -> String {
    format!("{}.{:06}", micro / 1_000_000, micro % 1_000_000)
}

/// The rows as FOCUS 1.2.
pub(super) fn focus(rows: &[Row]) -> Result<String, Failure> {
    let rows = rows.iter().filter_map(Row::focus);
    written(&FOCUS.map(str::to_owned), rows)
}

/// The rows as they are.
pub(super) fn csv(rows: &[Row]) -> Result<String, Failure> {
    let head = ["day", "tenant", "owner", "agent", "tasks", "failed", "dollars"];
    let each = rows.iter().map(|row| {
        let (owner, agent) = row
            .of
            .clone()
            .unwrap_or_else(|| ("shared".to_owned(), String::new()));
        let (tasks, failed) = (row.tasks.to_string(), row.failed.to_string());
        [
            row.day.to_string(),
            row.tenant.clone(),
            owner,
            agent,
            tasks,
            failed,
            row.dollars(),
        ]
    });
    written(&head.map(str::to_owned), each)
}

/// Lines of CSV. A spreadsheet takes what begins like a formula for one.
fn written<const N: usize>(
    head: &[String; N],
    rows: impl Iterator<Item = [String; N]>,
) -> Result<String, Failure> {
    let mut lines = csv::Writer::from_writer(Vec::new());
    let harmless = |field: String| match field.starts_with(['=', '+', '-', '@', '\t']) {
        true => format!("'{field}"),
        false => field,
    };
    lines.write_record(head).map_err(Failure::other)?;
    for row in rows {
        lines.write_record(row.map(harmless)).map_err(Failure::other)?;
    }
    let written = lines.into_inner().map_err(Failure::other)?;
    let text = String::from_utf8(written).map_err(Failure::other)?;
    Ok(text.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Row> {
        let day = NaiveDate::from_ymd_opt(2026, 12, 31).unwrap();
        let of = Some(("user-ada".to_owned(), "host".to_owned()));
        vec![
            Row {
                tenant: "acme".to_owned(),
                day,
                of,
                tasks: 3,
                failed: 1,
                micro_dollars: 331,
            },
            Row {
                tenant: "acme".to_owned(),
                day,
                of: None,
                tasks: 0,
                failed: 0,
                micro_dollars: 2_093_040,
            },
        ]
    }

    /// Feature level, whether null is allowed, and the type, by the specification's `specification/columns`, tag v1.2.
    const MANDATORY: [(&str, bool, &str); 21] = [
        ("BilledCost", false, "decimal"),
        ("BillingAccountId", false, "string"),
        ("BillingAccountName", true, "string"),
        ("BillingCurrency", false, "string"),
        ("BillingPeriodEnd", false, "time"),
        ("BillingPeriodStart", false, "time"),
        ("ChargeCategory", false, "string"),
        ("ChargeClass", true, "string"),
        ("ChargeDescription", true, "string"),
        ("ChargePeriodEnd", false, "time"),
        ("ChargePeriodStart", false, "time"),
        ("ContractedCost", false, "decimal"),
        ("EffectiveCost", false, "decimal"),
        ("InvoiceIssuerName", false, "string"),
        ("ListCost", false, "decimal"),
        ("PricingQuantity", true, "decimal"),
        ("PricingUnit", true, "string"),
        ("ProviderName", false, "string"),
        ("PublisherName", false, "string"),
        ("ServiceCategory", false, "string"),
        ("ServiceName", false, "string"),
    ];

    #[test]
    fn focus_has_its_columns_in_order_and_each_of_its_type() {
        let own = FOCUS.iter().position(|name| name.starts_with("x_")).unwrap();
        assert!(FOCUS[..own].is_sorted() && FOCUS[own..].iter().all(|name| name.starts_with("x_")));
        let told = focus(&rows()).unwrap();
        let mut lines = told.lines();
        assert_eq!(lines.next().unwrap(), FOCUS.join(","));
        assert_eq!(lines.count(), 2);
        for row in rows() {
            let fields = row.focus().unwrap();
            for (name, nullable, kind) in MANDATORY {
                let place = FOCUS.iter().position(|known| *known == name);
                let value = &fields[place.unwrap_or_else(|| panic!("no {name}"))];
                assert!(nullable || !value.is_empty(), "{name}");
                let fits = match kind {
                    "decimal" => value.parse::<f64>().is_ok(),
                    "time" => chrono::DateTime::parse_from_rfc3339(value).is_ok() && value.ends_with('Z'),
                    _ => value.trim() == value,
                };
                assert!(fits, "{name}: {value}");
            }
            let field = |name| fields[FOCUS.iter().position(|known| *known == name).unwrap()].as_str();
            assert_eq!(field("BillingPeriodStart"), "2026-12-01T00:00:00Z");
            assert_eq!(field("BillingPeriodEnd"), "2027-01-01T00:00:00Z");
            assert_eq!(field("ChargePeriodEnd"), "2027-01-01T00:00:00Z");
            assert_eq!(field("Tags"), r#"{"tenant":"acme"}"#);
        }
        assert!(told.contains(r#""{""tenant"":""acme""}""#));
    }

    #[test]
    fn a_line_of_csv_is_told_apart_again_and_no_formula() {
        let told = csv(&rows()).unwrap();
        assert_eq!(
            told,
            "day,tenant,owner,agent,tasks,failed,dollars\n2026-12-31,acme,user-ada,host,3,1,0.000331\n\
             2026-12-31,acme,shared,,0,0,2.093040"
        );
        let mut odd = rows();
        odd[0].of = Some(("=1+1,\"x\"".to_owned(), String::new()));
        assert!(csv(&odd).unwrap().contains("\"'=1+1,\"\"x\"\"\""));
    }
}
