import type { Rights } from '../database/outcome.ts';
import { areLimited } from '../database/rights.ts';
import { limits } from '../limits.ts';
import type { ModuleDefinition } from '../schema/definition.ts';
import { inSlices } from './slices.ts';

/** Whose view of which definition a text is. */
export interface ShownTo {
  readonly definition: ModuleDefinition;
  /** Callers with the same key see the same. */
  readonly rights: Pick<Rights, 'key'>;
  /** What else the text depends on, of a few possibilities. */
  readonly form: string;
}

/**
 * The texts last built of each definition: anyone can request them, as often as they like, and
 * thousands of watchers request them again at the moment a module is published. There are a few
 * kinds of whole identities; of limited tokens, which are many, the latest texts are kept.
 *
 * Texts are built in slices, those of one definition one after another, so that no module is so
 * large, and no crowd of tokens, that others wait for it.
 */
export class ShownTexts<Text> {
  readonly #charactersOf: (text: Text) => number;
  readonly #known = new WeakMap<ModuleDefinition, Known<Text>>();

  constructor(charactersOf: (text: Text) => number) {
    this.#charactersOf = charactersOf;
  }

  /** Returns the text, built by `steps` if it is not kept. */
  text(
    { definition, rights, form }: ShownTo,
    steps: () => Generator<undefined, Text>,
  ): Promise<Text> {
    const known = this.#known.get(definition) ?? {
      whole: new Map<string, Promise<Text>>(),
      limited: new Map<string, Promise<Text>>(),
      characters: new Map<string, number>(),
      last: Promise.resolve(),
    };
    this.#known.set(definition, known);
    const texts = areLimited(rights) ? known.limited : known.whole;
    const key = `${form} ${rights.key}`;
    const kept = texts.get(key);
    if (kept !== undefined) {
      texts.delete(key);
      texts.set(key, kept);
      return kept;
    }
    const text = known.last.then(() => inSlices(steps()));
    const settled = text.then(
      (done) => {
        if (texts === known.limited) this.#keep(known, key, this.#charactersOf(done));
      },
      () => {
        texts.delete(key);
      },
    );
    known.last = settled;
    texts.set(key, text);
    return text;
  }

  /** Evicts what was least recently requested, but never the text that has just been built. */
  #keep({ limited, characters }: Known<Text>, key: string, count: number): void {
    characters.set(key, count);
    for (const one of characters.keys()) if (!limited.has(one)) characters.delete(one);
    const sum = () => [...characters.values()].reduce((total, each) => total + each, 0);
    for (const one of limited.keys()) {
      const isOver =
        characters.size > limits.limitedTextsMax || sum() > limits.limitedTextsCharactersMax;
      if (!isOver) return;
      if (one === key || !characters.has(one)) continue;
      limited.delete(one);
      characters.delete(one);
    }
  }
}

interface Known<Text> {
  /** By form and rights; the promise is that of a text that is kept or being built. */
  readonly whole: Map<string, Promise<Text>>;
  /** Least recently requested first. */
  readonly limited: Map<string, Promise<Text>>;
  /** Lengths of the limited ones that are built. */
  readonly characters: Map<string, number>;
  /** Settles when nothing is being built. */
  last: Promise<void>;
}
