//! What the agent publishes of itself.

use a2a::card::{Bearer, Card, OAuth, Skill, inputs};
use domain::Tenant;
use url::Url;

use crate::question;

/// The skill's id.
const ORDER_STATUS: &str = "order-status";

/// What a token must allow.
pub(crate) const SCOPES: [(&str, &str); 2] = [
    (agent::TASKS_SCOPE, "Give the agent tasks in your name"),
    ("orders:read", "See your orders"),
];

/// What customers ask for that this agent does not do, and how they ask for it otherwise and in other languages: so that nobody
/// is asked for consent in vain.
const DENIED: [&str; 15] = [
    "cancel,storniere,stornieren,annule,annuler,avbestille",
    "cancel,avbestill,avbeställ,annulla,cancelar,キャンセル",
    "refund,erstattung,reembolso,remboursement,rembourser,refusjon",
    "refund,rimborso,terugbetaling,återbetalning,zwrot,返金",
    "refund,geld+zurück,dinero+devuel,dinero+recup,argent+récup",
    "refund,penge+tilbake,geld+terug,soldi+indietro,dinheiro+volta",
    "refund,soldi,denaro,dinheiro,dinero,argent,geld,pengarna",
    "return,zurückgeben,zurückschicken,devolver,retourner,返品",
    "return,reso,rendere,restituire,oddać,zwrócić,terugsturen",
    "return,renvoyer,tilbake+send,tillbaka+skicka,вернуть",
    "change,ändern,cambiar,modifier,endre,ändra,wijzigen",
    "change,adresse,dirección,indirizzo,adres,住所,変更",
    "buy,kaufen,kaufe,comprar,acheter,achète",
    "buy,kjøpe,kopen,comprare,köpa,kupić,買",
    "speed+up,expedite,hurry,beschleunigen,acelerar,accélérer",
];

/// The agent's card, with the URL it is called at. `issuer` is the tenant's authorization server.
pub(crate) fn card(url: Url, tenant: &Tenant, issuer: &Url) -> Card {
    let issuer_text = issuer.as_str().trim_end_matches('/').to_owned();
    let below = |path: &str| {
        let mut url = issuer.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path.split('/'));
        }
        url
    };
    let words = |(name, words): (&str, &str)| (name.to_owned(), words.to_owned());
    Card {
        name: "Horizon".into(),
        description:
            "Says how far your orders are: what was ordered, whether it is packed, shipped or delivered, and \
                      when it is expected."
                .into(),
        version: env!("CARGO_PKG_VERSION").into(),
        url,
        mqtt: None,
        documentation_url: None,
        provider: None,
        skills: vec![Skill {
            id: ORDER_STATUS.into(),
            name: "Order status".into(),
            description:
                "Looks up orders by their number, your latest order, or all of yours: status, items, \
                          expected delivery."
                    .into(),
            tags: [
                "type:horizon".into(),
                format!("tenant_id:{}", tenant.name()),
                "topic:orders".into(),
            ]
            .into_iter()
            .chain(DENIED.map(|what| format!("not:{what}")))
            .collect(),
            examples: [
                "Where is my order 1003?",
                "What is the status of orders 1003 and 1005?",
                "When will my latest order arrive?",
                "Show or list my orders, any news on them?",
                "Has order 1005 been shipped?",
                "Track my parcel or package, is the courier or driver on the way?",
                "Shipment or consignment 1003: delivered, dispatched, sent, delayed, lost, or still in the warehouse?",
                "What did I buy in May, and why has my purchase not come or turned up, when does the delivery arrive?",
                "The ETA of what I ordered or bought: is it paid, accepted, packed, out for delivery?",
                "Wo ist oder bleibt meine Bestellung 1003, wurde sie schon versandt, verschickt oder geliefert?",
                "Wann kommt mein Paket an, ist die bestellte oder gekaufte Ware unterwegs?",
                "Status meiner letzten Lieferung oder Sendung, Sendungsverfolgung, was habe ich bestellt oder gekauft?",
                "¿Dónde está mi pedido 1003, ya lo han enviado o entregado?",
                "¿Cuándo llega mi paquete, lo que compré o encargué? ¿Ha salido, ha llegado o viene retrasado mi encargo, los artículos, el repartidor, el almacén, la orden, el rastreo?",
                "Estado y seguimiento de mi último envío, de la entrega o de la compra",
                "Où est ma commande 1003, est-elle expédiée ou livrée ? Mes achats et articles : envoyés, partis, reçus, en retard, à l'entrepôt, le livreur, l'envoi, suivre le paquet",
                "Quand mon colis arrive-t-il, sera-t-il livré, ce que j'ai acheté ou commandé ? Er varene forsinket, kommet fram, på lager, hos budet, leveres de, kjøp, sporing, forsendelse, pakke",
                "Suivi de ma dernière livraison ou expédition, où en est mon achat ?",
                "Hvor er bestillingen min 1003, er den sendt eller levert?",
                "Når kommer pakken eller varen, det jeg kjøpte eller bestilte?",
                "Status for siste ordre og levering, spor sendingen",
                "注文1003はどこですか、発送や出荷はされましたか",
                "荷物はいつ届きますか、配達の追跡、到着予定",
                "配送や購入した商品、買った物の状況。届かない、配達中、お届け日、追跡番号、注文履歴、商品、配送状況、遅れて",
                "Dov'è il mio ordine 1003, il pacco è stato spedito o consegnato, quando arriva la consegna, quello che ho comprato o ordinato, corriere, in ritardo, acquisto, articolo?",
                "Waar is of blijft mijn bestelling 1003, is het pakket verzonden of bezorgd, wat heb ik gekocht of besteld, wanneer komt de levering, onderweg, vertraagd?",
                "Var är min beställning 1003, har paketet skickats eller levererats, det jag köpte eller beställde, när kommer leveransen, på väg, försenad?",
                "Onde está a minha encomenda ou pedido 1003, rastrear o pacote que comprei, já foi enviado ou entregue, quando chega, compra, a caminho, atrasada?",
                "Gdzie jest moje zamówienie 1003, kiedy przyjdzie paczka, czy przesyłka została wysłana, co kupiłem lub zamówiłem, status dostawy, kurier, w drodze?",
                "Где мой заказ 1003, когда привезут или придёт посылка, доставка, уже отправили то, что я купил или заказал Курьер, в пути, покупка, товар?",
                "Is the item late, overdue, missing, in transit, stuck at the depot or at customs, handed to the carrier, and what is its tracking number?",
                "Zustellung und Lieferdatum: verspätet, fehlt, ausgeliefert, zugestellt, abgeschickt, im Lager, Artikel, Auftrag, Bote, Einkauf",
            ]
            .map(String::from)
            .to_vec(),
            input_modes: Vec::new(),
            output_modes: Vec::new(),
        }],
        default_input_modes: vec!["text/plain".into(), "application/json".into()],
        default_output_modes: vec!["text/plain".into(), "application/json".into()],
        streaming: true,
        push_notifications: true,
        extended: false,
        extensions: vec![inputs([(ORDER_STATUS, question::schema())])],
        secured: Some(Bearer {
            description: Some(
                "An access token of a user of the tenant, with this agent's URL as its audience.".into(),
            ),
            scopes: SCOPES.map(|(name, _)| name.to_owned()).to_vec(),
            oauth: Some(OAuth {
                authorization_url: below("authorize"),
                token_url: below("token"),
                metadata_url: below(".well-known/oauth-authorization-server"),
                issuer: issuer_text,
                scopes: SCOPES.map(words).to_vec(),
            }),
        }),
    }
}
