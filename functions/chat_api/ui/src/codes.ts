// Codes of consent pages, as people type them.

/** Codes that are typed back from a consent page look so; they are good once, and nothing keeps them. */
export const looksLikeCode = (text: string): boolean => /\b[BCDFGHJKLMNPQRSTVWXZ]{4}[-\s]?[BCDFGHJKLMNPQRSTVWXZ]{4}\b/i.test(text);
