//! What the agent publishes of itself.

use a2a::card::{Card, Skill, inputs};
use url::Url;

use crate::question;

const FORECAST: &str = "forecast";

/// The agent's card, with the URL it is called at.
pub(crate) fn card(url: Url) -> Card {
    Card {
        name: "Weather".into(),
        description: "Daily weather forecasts for any place on earth, up to 16 days ahead, with data from Open-Meteo. \
                      Understands several places, days, ranges of days and units in one question, and asks back when \
                      a place is ambiguous."
            .into(),
        version: env!("CARGO_PKG_VERSION").into(),
        url,
        mqtt: None,
        documentation_url: Url::parse("https://open-meteo.com/en/docs").ok(),
        provider: None,
        skills: vec![forecast(), sun(), limits()],
        default_input_modes: vec!["text/plain".into(), "application/json".into()],
        default_output_modes: vec!["text/plain".into(), "application/json".into()],
        streaming: true,
        push_notifications: true,
        extended: false,
        extensions: vec![inputs([(FORECAST, question::schema())])],
        secured: None,
    }
}

fn forecast() -> Skill {
    Skill {
        id: FORECAST.into(),
        name: "Weather forecast".into(),
        description:
            "Answers questions about the weather of the coming days: rain or dry, wet, umbrella, snow, wind, storm, \
                      sunny or cloudy, warm, hot, cold, temperature, frost, heat, and whether to wear a coat."
                .into(),
        tags: vec![
            "type:weather".into(),
            "topic:forecast".into(),
            // Dutch for the weather, and for "again": as a tag it is no little word.
            "topic:weer".into(),
            "source:open-meteo".into(),
        ],
        examples: [
            "Will it rain in Oslo tomorrow?",
            "Do I need an umbrella in Rome this weekend?",
            "Weather in Paris, Rome or Berlin next week",
            "How cold will it be in Oslo on Friday, in Fahrenheit?",
            "Will it snow or stay dry in Berlin on 24 December?",
            "How windy is it in Oslo today, is a storm or a gale coming?",
            "Should I wear a jacket, boots, gloves, shorts or sandals? Is it a good day for a picnic, a hike, skiing, sailing or the beach, or will we get soaked? Bring sunglasses, a sweater, a scarf, a hat or a raincoat?",
            "Will it be warmer, colder, wetter or sunnier in Paris or in Rome on Sunday? Gusts, a blizzard, a typhoon, snowfall, slippery roads, below zero, damp air, clouds in the sky",
            "Is it hot or freezing, chilly, sunny, cloudy, overcast, drizzling or pouring? Estará nublado ou ensolarado, neve, geada, tempestade, trovoada, botas, chove?",
            "How many degrees Celsius, which highest and lowest temperature, a heatwave or frost? What will it be like, what is it like? Say if it rains, snows, is raining or snowing",
            "The outlook: when does it stop raining, are showers, thunderstorms, lightning, ice or a hurricane coming, or clear skies and sunshine?",
            // Whoever names a place and a day alone means the weather.
            "Tokyo tomorrow",
            "Wie wird das Wetter, regnet oder schneit es, bleibt es trocken? Ist es bewölkt, sonnig, windig, stürmisch, nass, schwül oder eisig, Hitze, Niederschlag, Minusgrade, Mantel, Handschuhe oder Mütze?",
            "Wie wird es, wie warm, heiß oder kalt wird es, wie viel Grad, gibt es Frost, Schnee, Nebel oder Glatteis?",
            "Brauche ich einen Regenschirm, Schirm oder eine Jacke, kommt ein Sturm oder Gewitter, scheint die Sonne?",
            "¿Qué tiempo hará, qué tiempo hace, qué tal el tiempo, va a llover o nevar, llueve, lloverá, nevará, habrá tormenta o niebla?",
            "¿Cuántos grados, qué temperatura, hace frío, calor, viento, sol, lluvia o nieve?",
            "¿Necesito paraguas, abrigo o chaqueta? El pronóstico del clima ¿Estará nublado, soleado o lluvioso, chubascos, granizo, helada, bochorno, para ir a la playa, bufanda o botas?",
            "Quel temps fera-t-il, quel temps fait-il, va-t-il pleuvoir ou neiger, il pleut, il neige, y aura-t-il de la pluie ou de la neige ?",
            "Combien de degrés, quelle température, fait-il froid, chaud, du vent, du soleil, un orage, du brouillard, du verglas ?",
            "Faut-il un parapluie, un manteau ou une veste, la météo et les prévisions Le ciel sera-t-il nuageux ou ensoleillé, des averses, une tempête, du gel, la canicule, une écharpe, des bottes, la plage ?",
            "Hvordan blir været, hvordan er været, regner eller snør det, regn, snø, sol, vind, tåke eller storm, blir det tørt? Er det overskyet, skyer, glatt, frost, kuling, minusgrader, opphold, badevær, regnjakke, votter, lue?",
            "Hvor kaldt eller varmt blir det, hvor mange grader, hva blir temperaturen, trenger jeg paraply eller jakke? Blir det molnigt, soligt, blåsigt, frost, storm, dimma, temperatur, regnjacka, stövlar?",
            "天気は？天気予報は？雨、雪、晴れ、曇り、雷、霧。雨が降る、雪が積もる、晴れる、台風、湿度、洗濯物は乾く、半袖、コート、天候",
            "気温は何度、暑い、寒い、暖かい、涼しい、風、台風、傘や上着は要りますか",
            "Che tempo fa, che tempo farà, com'è il tempo, piove, pioverà, nevica, c'è il sole, vento, nebbia o temporale, quanti gradi, fa caldo o freddo, ombrello o giacca? Il meteo",
            "Wat voor weer wordt het, gaat het regenen of sneeuwen, regent of sneeuwt het, regen, droog, wind, zon, mist, onweer, hoeveel graden, warm of koud, een paraplu of jas mee?",
            "Hur blir vädret, regnar eller snöar det, regn, snö, sol, blåst, åska, hur många grader, varmt eller kallt, paraply eller jacka? Prognos",
            "Como vai estar o tempo, como está o tempo, que tempo vai fazer, que tempo faz, vai chover, nevar ou fazer sol, chuva, frio, calor, vento, praia, quantos graus, que temperatura, guarda-chuva ou casaco? È nuvoloso o soleggiato, pioggia, neve, gelo, cappotto, sciarpa, stivali, mare?",
            "Jak będzie, jaka będzie pogoda, czy będzie padać deszcz lub śnieg, słońce, wiatr, burza, mgła, ile stopni, ciepło czy zimno, parasol, brać kurtkę? Pada, pochmurno, słonecznie, mróz, upał, wieje, grad, temperatura, płaszcz, czapka?",
            "Какая погода, будет ли дождь, снег, солнце, ветер, гроза, сколько градусов, тепло, жарко, холодно или мороз, зонт или куртка? Пасмурно, облачно, солнечно, жара, ливень, осадки, снегопад, метель, туман, гололёд, температура, шапка, пальто?",
        ]
        .map(String::from)
        .to_vec(),
        input_modes: Vec::new(),
        output_modes: Vec::new(),
    }
}

fn sun() -> Skill {
    Skill {
        id: "sun".into(),
        name: "Sunrise, sunset, UV index".into(),
        description: "When the sun goes up and down, how strong its UV is, and whether that needs sunscreen."
            .into(),
        tags: vec!["type:weather".into()],
        examples: vec!["When is sunset in Rome on Sunday, when does the sun go up?".into()],
        input_modes: Vec::new(),
        output_modes: Vec::new(),
    }
}

/// What people ask a weather agent for and daily forecasts do not have. That it says so is a skill, too: nobody else would.
fn limits() -> Skill {
    Skill {
        id: "limits".into(),
        name: "Humidity, pollen, fog, hail".into(),
        description:
            "Says which of these daily forecasts do not have, beside what they do have of the place.".into(),
        tags: vec!["type:weather".into()],
        examples: Vec::new(),
        input_modes: Vec::new(),
        output_modes: Vec::new(),
    }
}
