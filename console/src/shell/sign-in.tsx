import { type SyntheticEvent, useState } from 'react';
import { Button } from '../parts/button.tsx';
import { Field, Input } from '../parts/field.tsx';
import mark from '../parts/mark.svg';
import { Notice } from '../parts/state.tsx';
import type { ServiceInfo } from '../service/service-info.ts';
import { setSession } from '../service/session-token.ts';
import { beginLogin, loginAddress } from '../service/sessions.ts';
import styles from './sign-in.module.css';

interface SignInProps {
  readonly info: ServiceInfo | null;
  /** Why one has to sign in again. */
  readonly why?: string | undefined;
}

/** Ways in: a token, an issuer, nobody in particular, or the command that opens the page. */
export function SignIn({ info, why }: SignInProps) {
  const issuers = info?.issuers ?? [];
  return (
    <main className={styles.place}>
      <div className={styles.card}>
        <header className={styles.head}>
          <img className={styles.mark} src={mark} alt="" />
          <h1>Sign in</h1>
          <p>
            To the reducerdb service at <code>{location.host}</code>
          </p>
        </header>
        {why !== undefined && (
          <Notice kind="warn" isAlert>
            {why}
          </Notice>
        )}
        {issuers.map(({ issuer, name }) => (
          <Button
            key={issuer}
            className={styles.wide}
            icon="user"
            onClick={() => {
              beginLogin();
              location.assign(loginAddress(issuer, location.pathname + location.search));
            }}
          >
            Continue with {name}
          </Button>
        ))}
        {issuers.length > 0 && <div className={styles.or}>or</div>}
        <TokenForm />
        <div className={styles.or}>or</div>
        <Button className={styles.wide} onClick={() => setSession({ kind: 'anonymous' })}>
          Look around without signing in
        </Button>
        <p className={styles.foot}>
          On this machine, <code>reducerdb console</code> opens this page signed in.
        </p>
      </div>
    </main>
  );
}

function TokenForm() {
  const [token, setToken] = useState('');
  const [error, setError] = useState<string>();
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    const text = token.trim();
    if (/^[\w-]+(\.[\w-]+)*$/.test(text)) setSession({ kind: 'token', token: text });
    else setError('This is not a token: paste what `reducerdb login show --token` prints.');
  };
  return (
    <form className={styles.form} onSubmit={submit}>
      <Field label="Token" error={error}>
        {(control) => (
          <Input
            {...control}
            isData
            type="password"
            name="token"
            value={token}
            placeholder="Paste a token"
            onChange={(event) => setToken(event.target.value)}
          />
        )}
      </Field>
      <Button kind="accent" isSubmit className={styles.wide}>
        Sign in
      </Button>
    </form>
  );
}
