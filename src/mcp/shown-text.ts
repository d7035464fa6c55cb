/**
 * Escapes what a person or a model would not see, or would see in another order: control characters
 * but line ends and tabs, marks of direction, characters without width, and tags. In JSON the
 * escapes are those of the language, so the text means the same to a parser.
 */
export function shownText(text: string): string {
  return text.replace(hidden, (character) => {
    return [...Array(character.length).keys()]
      .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
      .join('');
  });
}

const hidden = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
