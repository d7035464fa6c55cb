import { limits } from '../limits.ts';
import { identifierProblem } from './names.ts';

/** A definition that breaks rules; `message` is the text that the publisher reads. */
export class DefinitionErrors extends Error {
  override readonly name = 'DefinitionErrors';
  /** Sorted, without duplicates. */
  readonly messages: readonly string[];

  constructor(messages: readonly string[]) {
    super(textOf(messages));
    this.messages = messages;
  }
}

/** A definition can have any number of errors: those beyond the limit are only counted. */
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
 * Collects the errors of a definition, so that one publish shows all of them. A check reports an
 * error and continues with a placeholder for the broken part: once an error was reported, the
 * definition being built is discarded.
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

/** A set of names, each of which belongs to one entity. */
export class Namespace {
  readonly #taken = new Set<string>();
  readonly #problems: Problems;
  readonly #duplicateText: (name: string) => string;

  constructor(problems: Problems, duplicateText: (name: string) => string) {
    this.#problems = problems;
    this.#duplicateText = duplicateText;
  }

  /** Reserves an entity's names; a canonical name that equals the source name is one name. */
  claim(...names: readonly string[]): void {
    for (const name of new Set(names)) {
      if (this.#taken.has(name)) this.#problems.report(this.#duplicateText(name));
      this.#taken.add(name);
    }
  }
}
