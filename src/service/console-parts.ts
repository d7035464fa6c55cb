import type { HostTokens } from '../auth/host-tokens.ts';
import { IssuerLogins } from '../auth/issuer-login.ts';
import { CallRates } from '../http/call-rates.ts';
import { ConsoleFolder } from '../http/console-folder.ts';
import type { LoginContext } from '../http/console-login.ts';
import { SignIns } from '../http/sign-ins.ts';
import { TemplateFolder } from '../http/template-folder.ts';
import type { ServiceConfiguration } from './configuration.ts';
import { loginClientsOf } from './login-clients.ts';
import type { ServiceLog } from './service-log.ts';

type ConsoleParts = Pick<
  LoginContext,
  'console' | 'consoleFolder' | 'callRates' | 'signIns' | 'templates' | 'logins' | 'facts'
>;

/** Makes what the doors need for the console: its files, who signs in, and what it asks first. */
export function consolePartsOf(
  configuration: ServiceConfiguration,
  { tokens, log }: { readonly tokens: HostTokens; readonly log: ServiceLog },
): ConsoleParts {
  const clients = loginClientsOf(configuration);
  return {
    console: configuration.console,
    consoleFolder: new ConsoleFolder(configuration.consoleDirectory),
    callRates: new CallRates(),
    signIns: new SignIns(),
    templates: new TemplateFolder(configuration.templatesDirectory),
    logins: new IssuerLogins({
      clients,
      verify: (token) => tokens.verify(token),
      report: (message) => log.report({ level: 'warn', message }),
    }),
    facts: {
      startedAt: new Date().toISOString(),
      issuers: clients.map(({ issuer }) => ({ issuer, name: new URL(issuer).host })),
      appsDomain: configuration.appsDomain,
      settings: configuration.settingsInForce,
    },
  };
}
