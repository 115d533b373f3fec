//! A function of one tenant: whose it is, what that tenant's record says of it, and when it is built. A silo's settings name the tenant, and
//! Lambda does where it isolates sandboxes.

use std::sync::Arc;

use domain::{Clock as _, SystemClock, Tenant};
use edge::config::{self, Env, Platform, Tenancy, TenancyError};
use edge::{Error, Function, Ground};
use store::{Pooled, TenantSettings};
use tokio::sync::{Mutex, OnceCell};

use crate::run::{begun, log_by};
use crate::serve::{Served, by_its_settings_alone, events};

/// As [`run`](crate::run), for a function of one tenant, whose record may say otherwise than its environment ([`domain::DEPLOYMENT`]). The
/// record is read before the function is built, and looked at with each event, which costs one read in ten seconds: where it has changed, the
/// function is built anew before that event.
///
/// Where Lambda isolates tenants, all that is the function's own stands before the first event; what is the tenant's is read and built once that
/// event names it.
///
/// # Errors
/// As [`run`](crate::run); [`TenancyError`] at an event of no tenant, or of another one. The process must end then.
pub async fn run_tenant<C, E, F>(
    mut env: Env,
    read: impl Fn(&mut Env) -> Result<C, E>,
    build: impl Fn(Ground, C) -> F,
) -> Result<(), Error>
where
    E: Into<Error>,
    F: Future<Output = Result<Function, Error>>,
{
    let tenancy = env.tenancy()?;
    let platform = match tenancy {
        Tenancy::Single => begun(env.clone(), &read)?.0,
        Tenancy::Isolated => {
            // Where its paths begin, only the tenant's record says.
            let unknown = Some("/".to_owned());
            let platform = Platform::read(&mut env.clone().overridden("BASE_PATH", unknown))?;
            log_by(&platform);
            platform
        }
    };
    let ground = OnceCell::new();
    let ground_of = async |tenant: &Tenant| {
        let new = async || Ground::aws(platform.clone().for_tenant(tenant));
        ground.get_or_init(new).await.clone()
    };
    let says = async |tenant: &Tenant| {
        // No record is read of a tenant whose it is not.
        env.clone().isolated(tenant)?;
        let store = ground_of(tenant).await.store;
        let (tenants, now) = (store.tenants(), SystemClock.now());
        Ok(Said {
            settings: tenants.deployment(tenant, now).await?,
            // Those of a silo, or of a sandbox that calls AWS by its own role, are all in its environment.
            pooled: match platform.sessions {
                Some(_) => tenants.pooled(tenant, now).await?,
                None => None,
            },
        })
    };
    let build = async |tenant: &Tenant, said: &Said| {
        let mut ground = ground_of(tenant).await;
        let env = match (&said.pooled, &platform.sessions) {
            (Some(pooled), _) => {
                ground = ground.with_sealed(&platform, tenant, pooled)?;
                env.clone().in_pool(tenant, pooled)?
            }
            (None, Some(_)) => return Err(TenancyError::NotPooled(tenant.prefix().to_owned()).into()),
            (None, None) => env.clone().isolated(tenant)?,
        };
        let (own, config) = config::read(env.with_record(&said.settings), &read)?;
        Ok(Served {
            function: build(ground, config).await?,
            http: own.http,
        })
    };
    let mut sandbox = Sandbox {
        silo: None,
        says,
        build,
        serves: Serves::New,
    };
    if tenancy == Tenancy::Single {
        sandbox.silo = Some(env.clone().tenant()?);
        // Before the first event is asked for, as `serve` has it.
        sandbox.served_to(None).await?;
    }
    let sandbox = Mutex::new(sandbox);
    events(async |told| sandbox.lock().await.served_to(told).await).await
}

/// What a tenant's record says of its functions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Said {
    settings: TenantSettings,
    /// In the pool: its paths and its keys.
    pooled: Option<Arc<Pooled>>,
}

/// A sandbox: whose its settings say that it is, what its tenant's record says, how it builds the function of that, and what it serves.
struct Sandbox<S, B> {
    silo: Option<Tenant>,
    says: S,
    build: B,
    serves: Serves,
}

/// What a sandbox serves.
enum Serves {
    /// Nothing before its first event.
    New,
    /// For the rest of its life this tenant, whose record said this.
    Of(Tenant, Said, Arc<Served>),
    /// What it was asked to serve could not be built.
    Broken,
}

impl<S, B> Sandbox<S, B>
where
    S: AsyncFn(&Tenant) -> Result<Said, Error>,
    B: AsyncFn(&Tenant, &Said) -> Result<Served, Error>,
{
    /// Whose an event is with which Lambda named this tenant.
    fn whose(&self, told: Option<String>) -> Result<Tenant, Error> {
        match (&self.silo, told) {
            (Some(silo), None) => Ok(silo.clone()),
            (Some(_), Some(told)) => Err(by_its_settings_alone(told)),
            (None, told) => {
                let told = Tenant::from_prefix(&told.ok_or(TenancyError::NotTold)?);
                Ok(told.map_err(TenancyError::from)?)
            }
        }
    }

    /// What serves such an event, as the tenant's record says now.
    async fn served_to(&mut self, told: Option<String>) -> Result<Arc<Served>, Error> {
        let told = self.whose(told)?;
        match &mut self.serves {
            Serves::New => {
                self.serves = Serves::Broken;
                let said = (self.says)(&told).await?;
                let served = Arc::new((self.build)(&told, &said).await?);
                self.serves = Serves::Of(told, said, Arc::clone(&served));
                Ok(served)
            }
            Serves::Broken => Err(TenancyError::NotTold.into()),
            Serves::Of(tenant, ..) if *tenant != told => {
                let (told, serves) = (told.prefix().to_owned(), tenant.prefix().to_owned());
                Err(TenancyError::Another { told, serves }.into())
            }
            Serves::Of(tenant, said, served) => {
                // Whoever cannot read the record goes on; nobody is let in for long then (`store::Tenants::standing`).
                if let Ok(now) = (self.says)(tenant).await
                    && now != *said
                {
                    match (self.build)(tenant, &now).await {
                        Ok(built) => *served = Arc::new(built),
                        Err(error) => {
                            let error = &*error as &dyn std::error::Error;
                            tracing::error!(
                                tenant.id = tenant.name(),
                                error,
                                "the function does not start with what its tenant's record says; it goes on with what it said before"
                            );
                        }
                    }
                    *said = now;
                }
                Ok(Arc::clone(served))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::collections::BTreeMap;

    use edge::config::Http;

    use super::*;

    fn nothing() -> Served {
        Served {
            function: Function::new(axum::Router::new()),
            http: Http::default(),
        }
    }

    /// What a sandbox says to events with these tenants, one after the other; and how often a function was built, and of whom.
    async fn told(tenants: &[Option<&str>], fails: bool) -> (Vec<String>, u32, String) {
        let (built, of) = (Cell::new(0), RefCell::new(String::new()));
        let mut sandbox = Sandbox {
            silo: None,
            says: async |_: &Tenant| Ok(Said::default()),
            build: async |tenant: &Tenant, _: &Said| {
                built.set(built.get() + 1);
                of.borrow_mut().push_str(tenant.prefix());
                match fails {
                    true => Err("a key is missing".into()),
                    false => Ok(nothing()),
                }
            },
            serves: Serves::New,
        };
        let mut said = Vec::new();
        for tenant in tenants {
            let served = sandbox.served_to(tenant.map(str::to_owned)).await;
            said.push(served.map_or_else(|error| error.to_string(), |_| "served".to_owned()));
        }
        (said, built.get(), of.take())
    }

    #[tokio::test]
    async fn a_changed_record_builds_the_function_anew_and_one_that_does_not_start_changes_nothing() {
        let says: Cell<Result<&str, ()>> = Cell::new(Ok("never"));
        let built = RefCell::new(Vec::new());
        let mut sandbox = Sandbox {
            silo: Some(Tenant::parse("acme").unwrap()),
            says: async |_: &Tenant| match says.get() {
                Ok(plans) => Ok(Said {
                    settings: BTreeMap::from([("PLAN_APPROVAL".to_owned(), plans.to_owned())]),
                    pooled: None,
                }),
                Err(()) => Err("the table is away".into()),
            },
            build: async |_: &Tenant, said: &Said| {
                let plans = said.settings["PLAN_APPROVAL"].clone();
                built.borrow_mut().push(plans.clone());
                match plans.as_str() {
                    "sometimes" => Err("PLAN_APPROVAL is not valid".into()),
                    _ => Ok(nothing()),
                }
            },
            serves: Serves::New,
        };
        let mut served = Vec::new();
        for said in [
            Ok("never"),
            Ok("never"),
            Ok("always"),
            Ok("sometimes"),
            Ok("sometimes"),
            Err(()),
            Ok("over:3"),
        ] {
            says.set(said);
            served.push(sandbox.served_to(None).await.unwrap());
        }
        assert_eq!(*built.borrow(), ["never", "always", "sometimes", "over:3"]);
        let same: Vec<bool> = served
            .windows(2)
            .map(|two| Arc::ptr_eq(&two[0], &two[1]))
            .collect();
        assert_eq!(same, [true, false, true, true, true, false]);

        // Whoever cannot tell what the record says serves nothing.
        says.set(Err(()));
        sandbox.serves = Serves::New;
        assert!(sandbox.served_to(None).await.is_err());
    }

    #[tokio::test]
    async fn a_sandbox_serves_the_tenant_of_its_first_event_and_no_other() {
        let acme = Some("acme.7f3a9c2e");
        let (said, built, of) = told(&[acme, acme, Some("globex"), Some("acme"), None, acme], false).await;
        assert_eq!((built, of.as_str()), (1, "acme.7f3a9c2e"));
        assert_eq!(said[..2], ["served", "served"]);
        assert_eq!(
            said[2],
            "a function serves exactly one tenant, and it was told another: Lambda named globex, and it serves acme.7f3a9c2e"
        );
        assert!(
            said[3].contains("named acme, and it serves acme.7f3a9c2e"),
            "{said:?}"
        );
        assert!(said[4].contains("it was not told which"), "{said:?}");
        assert_eq!(said[5], "served");
    }

    #[tokio::test]
    async fn a_sandbox_that_is_not_told_its_tenant_builds_nothing() {
        let (said, built, _) = told(&[None, Some("Not A Tenant"), Some("*"), Some("global")], false).await;
        assert_eq!(built, 0);
        for said in said {
            assert!(
                said.contains("exactly one tenant, and it was not told which"),
                "{said}"
            );
        }
    }

    #[tokio::test]
    async fn a_function_that_could_not_be_built_is_not_tried_again() {
        let (said, built, _) = told(&[Some("acme"), Some("acme"), Some("globex")], true).await;
        assert_eq!(built, 1);
        assert_eq!(said[0], "a key is missing");
        assert!(!said.contains(&"served".to_owned()), "{said:?}");
    }
}
