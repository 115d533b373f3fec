//! Orders that an operator imports on AWS: both programs, the AWS client's own search for credentials, the tables of a stage.

use std::process::Command;

use domain::{Owner, Tenant};
use store::{Store, Tables, User};
use tests::binary;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the program for AWS has crates of its own: `tests/run operator` builds it, then runs this"]
async fn orders_are_imported_on_aws() {
    let (_, database) = store_testing::start_apart(None).await;
    let store = Store::new(&database.config(), Tables::prefixed("switchyard-prod-"));
    store.create_tables().await.unwrap();
    let (acme, ada) = (Tenant::parse("acme").unwrap(), Owner::parse("sub-ada").unwrap());
    let user = User {
        username: "ada".to_owned(),
        subject: ada.clone(),
        display_name: "Ada".to_owned(),
        password_hash: "none".to_owned(),
        roles: Vec::new(),
        since: None,
        not_before: None,
    };
    store.identity().put_user(&acme, &user).await.unwrap();

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("orders.csv");
    let import = async |lines: &str, keys: &[(&str, &str)]| {
        let head = "id,customer,status,items,placed_at,eta,updated_at\n";
        std::fs::write(&file, format!("{head}{lines}")).unwrap();
        let mut command = Command::new(binary::path("switchyard"));
        command.args(["orders", "import"]).arg(&file);
        command.args(["--tenant", "acme", "--aws"]);
        command.env("AWS_ENDPOINT_URL_DYNAMODB", database.url().as_str());
        // Nothing of the machine's own account may be found.
        command
            .env("HOME", folder.path())
            .env("AWS_EC2_METADATA_DISABLED", "true");
        for name in [
            "AWS_PROFILE",
            "AWS_REGION",
            "AWS_DEFAULT_REGION",
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
        ] {
            command.env_remove(name);
        }
        command.envs(keys.iter().copied());
        let ended = tokio::task::spawn_blocking(move || command.output().unwrap())
            .await
            .unwrap();
        let said = [ended.stdout, ended.stderr].concat();
        (ended.status.success(), String::from_utf8(said).unwrap())
    };
    let keys = [
        ("AWS_ACCESS_KEY_ID", "k"),
        ("AWS_SECRET_ACCESS_KEY", "s"),
        ("AWS_REGION", "eu-north-1"),
    ];
    // More than go in one piece.
    let many: String = (7000..7250)
        .map(|number| format!("{number},ada,placed,Lamp,2026-11-20T10:00:00Z,,\n"))
        .collect();
    let (done, said) = import(&many, &keys).await;
    assert!(done && said.contains("imported 250 orders for acme"), "{said}");
    let found = store.orders().find_order(&acme, "7249").await.unwrap().unwrap();
    assert_eq!(found.customer, Some(ada));

    let (done, said) = import("8000,eve,placed,,2026-11-20T10:00:00Z,,\n", &keys).await;
    assert!(
        !done && said.contains("eve is no user of the tenant; the first 0 orders are stored"),
        "{said}"
    );
    let (done, said) = import(&many, &keys[..2]).await;
    assert!(!done && said.contains("no region is set"), "{said}");
    let (done, said) = import(&many, &keys[2..]).await;
    assert!(
        !done && said.contains("the tables cannot be read: ") && said.contains("credentials"),
        "without credentials: {said}"
    );

    // A profile, as an operator has it.
    let profile = "[profile ops]\nregion = eu-north-1\naws_access_key_id = k\naws_secret_access_key = s\n";
    let config = folder.path().join("config");
    std::fs::write(&config, profile).unwrap();
    let keys = [
        ("AWS_PROFILE", "ops"),
        ("AWS_CONFIG_FILE", config.to_str().unwrap()),
    ];
    let (done, said) = import("8001,ada,placed,,2026-11-20T10:00:00Z,,\n", &keys).await;
    assert!(done && said.contains("imported 1 orders for acme"), "{said}");
}
