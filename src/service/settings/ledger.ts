import { parseDuration } from '../../doors/duration.ts';
import { parseSize } from '../../doors/size.ts';
import { limits } from '../../limits.ts';
import { ConfigurationError } from '../configuration.ts';
import { type Setting, setting } from '../setting.ts';

const mebibyte = 1024 * 1024;

/** Returns the settings for what is kept of the ledgers of databases. */
export function ledgerSettings(): Setting[] {
  return [
    setting({
      key: 'ledger.keep',
      flag: 'ledger-keep',
      kind: 'amount',
      value: '<time>',
      help: 'how long it is kept who did what in a database; `0`: not at all',
      otherwise: `${limits.ledgerKeepMillis / 86_400_000}d`,
      example: '90d',
      apply: (given, draft) => {
        const keepMillis = given === '0' ? 0 : parseDuration(given);
        if (keepMillis === undefined) {
          throw new ConfigurationError(`\`${given}\` must be a duration such as \`90d\`, or 0`);
        }
        draft.ledger = { ...draft.ledger, keepMillis };
      },
    }),
    setting({
      key: 'ledger.keep-bytes',
      flag: 'ledger-keep-bytes',
      kind: 'amount',
      value: '<size>',
      help: 'the ledger of one database; beyond it the oldest entries go',
      otherwise: `${limits.ledgerBytesMax / mebibyte}MiB`,
      example: '1GiB',
      apply: (given, draft) => {
        const bytesMax = parseSize(given);
        if (bytesMax === undefined || bytesMax < 2 * limits.ledgerFileBytesMax) {
          const least = `${(2 * limits.ledgerFileBytesMax) / mebibyte}MiB`;
          throw new ConfigurationError(
            `\`${given}\` must be a size such as \`1GiB\`, at least ${least}`,
          );
        }
        draft.ledger = { ...draft.ledger, bytesMax };
      },
    }),
  ];
}
