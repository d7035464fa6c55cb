import { limits } from '../limits.ts';
import { identifierProblem } from './names.ts';

/** A definition that breaks rules; `message` is the text that the publisher reads. */
export class DefinitionErrors extends Error {
  override readonly name = 'DefinitionErrors';
  /** Sorted, no text twice. */
  readonly messages: readonly string[];

  constructor(messages: readonly string[]) {
    super(textOf(messages));
    this.messages = messages;
  }
}

/** A definition may be as wrong as it is long: what is beyond the bound is counted. */
function textOf(messages: readonly string[]): string {
  const { programErrorCharactersMax } = limits;
  const parts = ['Errors occurred:\n'];
  let characters = 0;
  for (const [index, message] of messages.entries()) {
    characters += message.length;
    if (characters > programErrorCharactersMax) {
      const room = programErrorCharactersMax - (characters - message.length);
      parts.push(`${message.slice(0, room)}… and ${messages.length - index - 1} more errors\n`);
      break;
    }
    parts.push(`${message}\n\n`);
  }
  return parts.join('');
}

/**
 * Gathers what is wrong with a definition, so that one publish shows all of it. A check reports and
 * goes on with whatever stands in for the broken part: once anything was reported, the definition
 * that is being built is thrown away.
 */
export class Problems {
  readonly #messages = new Set<string>();

  report(message: string): void {
    this.#messages.add(message);
  }

  checkIdentifiers(...names: readonly string[]): void {
    for (const name of names) {
      const problem = identifierProblem(name);
      if (problem !== undefined) this.report(problem);
    }
  }

  throwIfAny(): void {
    if (this.#messages.size > 0) throw new DefinitionErrors([...this.#messages].sort());
  }
}

/** A set of names of which each belongs to one entity. */
export class Namespace {
  readonly #taken = new Set<string>();
  readonly #problems: Problems;
  readonly #duplicateText: (name: string) => string;

  constructor(problems: Problems, duplicateText: (name: string) => string) {
    this.#problems = problems;
    this.#duplicateText = duplicateText;
  }

  /** Takes an entity's names; a canonical name that equals the source name is one name. */
  claim(...names: readonly string[]): void {
    for (const name of new Set(names)) {
      if (this.#taken.has(name)) this.#problems.report(this.#duplicateText(name));
      this.#taken.add(name);
    }
  }
}
