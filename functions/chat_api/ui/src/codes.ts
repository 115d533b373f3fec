// Codes of consent pages, as people type them: eight consonants, with or without a dash, and what else may come between.

const LETTER = '[BCDFGHJKLMNPQRSTVWXZ]';
const BETWEEN = '[^\\p{L}\\p{N}]{0,3}';
const code = new RegExp(`(?:${LETTER}${BETWEEN}){7}${LETTER}`, 'iu');
const begun = new RegExp(`(?:${LETTER}${BETWEEN}){4,}${LETTER}${BETWEEN}$`, 'iu');

/** Codes that are typed back from a consent page look so; they are good once, and nothing keeps them. */
export const looksLikeCode = (text: string): boolean => code.test(text);

/** The same for a text that is being typed: most of a code is as good as a code. */
export const mayBecomeCode = (text: string): boolean => code.test(text) || begun.test(text);
