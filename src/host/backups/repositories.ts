import { Refusal } from '../../database/outcome.ts';
import type { RepositorySettings } from './backup-messages.ts';

/**
 * The repositories that the operator has named. Clients say a name, never an address, so that
 * nobody makes the service connect or write elsewhere.
 */
export class Repositories {
  readonly #byName: ReadonlyMap<string, RepositorySettings>;

  constructor(settings: readonly RepositorySettings[] = []) {
    this.#byName = new Map(settings.map((one) => [one.name, one]));
  }

  get names(): readonly string[] {
    return [...this.#byName.keys()];
  }

  /** Absent: the only one. Throws `Refusal` `backup.invalid`. */
  find(name: string | undefined): RepositorySettings {
    const found = name === undefined ? this.#only() : this.#byName.get(name);
    if (found !== undefined) return found;
    throw new Refusal({ code: 'backup.invalid', message: this.#faultText(name) });
  }

  #faultText(name: string | undefined): string {
    const { names } = this;
    if (names.length === 0) return noneText;
    const known = `(there are: ${names.join(', ')})`;
    return name === undefined
      ? `Say which repository, by its name in the configuration of the service ${known}`
      : `The configuration of the service names no repository \`${name}\` ${known}`;
  }

  #only(): RepositorySettings | undefined {
    return this.#byName.size === 1 ? [...this.#byName.values()][0] : undefined;
  }
}

const noneText =
  'This service has no repository for backups. Its operator names one in config.toml of the data ' +
  'folder, under [repository.NAME].';
