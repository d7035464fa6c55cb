import {
  type AllowedPlace,
  outboundModes,
  parseAllowedPlace,
} from '../../host/outbound/outbound-rules.ts';
import { ConfigurationError } from '../configuration.ts';
import { type Setting, setting } from '../setting.ts';
import { oneOf } from './connections.ts';

/** Returns the settings for HTTP requests that modules send. */
export function moduleHttpSettings(): Setting[] {
  return [
    setting({
      key: 'module-http.mode',
      flag: 'module-http-mode',
      kind: 'text',
      value: '<mode>',
      help: 'where modules can send HTTP requests: public addresses, the list only, or off',
      otherwise: 'public; list where `module-http.allow` names public places',
      example: 'list',
      apply: (value, draft) => {
        draft.moduleHttp = { ...draft.moduleHttp, mode: oneOf(outboundModes, value) };
      },
    }),
    setting({
      key: 'module-http.allow',
      flag: 'module-http-allow',
      kind: 'list',
      value: '<[database=]place>',
      help: 'private networks to open, each to a database, or the places of the mode list',
      otherwise: 'none',
      example: ['api.example.com', 'shop=10.0.0.0/8:5432'],
      apply: (values, draft) => {
        draft.moduleHttp = { ...draft.moduleHttp, allow: values.map(place) };
      },
    }),
  ];
}

function place(text: string): AllowedPlace {
  try {
    return parseAllowedPlace(text);
  } catch (cause) {
    throw new ConfigurationError((cause as Error).message, { cause });
  }
}
