import type { QuotaName } from '../../host/registry/quota-limits.ts';
import { limits } from '../../limits.ts';
import { type Setting, setting } from '../setting.ts';

const mebibyte = 1024 * 1024;

/** Returns the settings for quotas of identities, addresses and databases. */
export function quotaSettings(): Setting[] {
  const open = 'where strangers can publish, else any number';
  return [
    quota('databases-per-identity', '<count>', {
      help: 'databases of one identity that is not an operator; further ones get 403',
      otherwise: `${limits.strangerDatabasesMax} ${open}`,
      example: limits.strangerDatabasesMax,
    }),
    quota('databases-per-address', '<count>', {
      help: 'databases created from one address, except by operators; further ones get 403',
      otherwise: `${limits.addressDatabasesMax} ${open}`,
      example: limits.addressDatabasesMax,
    }),
    quota('names-per-identity', '<count>', {
      help: 'names of one identity that is not an operator, used or not; further ones get 403',
      otherwise: `${limits.strangerNamesMax} ${open}`,
      example: limits.strangerNamesMax,
    }),
    quota('names-per-address', '<count>', {
      help: 'names registered by publishing from one address; further ones get 403',
      otherwise: `${limits.addressNamesMax} ${open}`,
      example: limits.addressNamesMax,
    }),
    bytes(
      'row-bytes',
      'rows of one database; beyond it, calls and statements that add rows get 507',
    ),
    bytes(
      'log-bytes',
      'commit log of one database; beyond it, calls and statements that do not only delete get 507',
    ),
    bytes('program-bytes', 'program of one database; publishing a larger one gets 507'),
    bytes('static-bytes', 'static files of one database; publishing more gets 507'),
    bytes('owner-row-bytes', 'rows of all databases of one owner'),
    bytes('owner-log-bytes', 'commit logs of all databases of one owner'),
    bytes('owner-program-bytes', 'programs of all databases of one owner'),
    bytes('owner-static-bytes', 'static files of all databases of one owner, as they are kept'),
  ];
}

function bytes(name: QuotaName, help: string): Setting {
  return quota(name, '<MiB>', { help, otherwise: 'any amount', example: 256, unit: mebibyte });
}

interface QuotaWords {
  readonly help: string;
  readonly otherwise: string;
  readonly example: number;
  /** The amount that one unit of the setting's value stands for. */
  readonly unit?: number;
}

function quota(name: QuotaName, value: string, words: QuotaWords): Setting {
  const { help, otherwise, example, unit = 1 } = words;
  return setting({
    key: `quota.${name}`,
    flag: `quota-${name}`,
    kind: 'count',
    value,
    help,
    otherwise,
    example,
    apply: (given, draft) => {
      draft.quotas = { ...draft.quotas, [name]: given * unit };
    },
  });
}
