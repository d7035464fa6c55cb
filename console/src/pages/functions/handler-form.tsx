import { useState } from 'react';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Copy } from '../../parts/copy.tsx';
import { Field, Input, Select, TextArea } from '../../parts/field.tsx';
import { complain } from '../../parts/toast.tsx';
import { askHandler, type HandlerAnswer } from '../../service/calls.ts';
import {
  filledPath,
  type HandlerRoute,
  pathParameters,
  routeAddress,
} from '../../service/functions.ts';
import { useDatabase } from '../../shell/database-context.tsx';
import styles from './functions.module.css';

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** Sends a request to a route of the module, and shows the answer as text. */
export function HandlerForm({ route }: { readonly route: HandlerRoute }) {
  const { database } = useDatabase();
  const names = pathParameters(route.path);
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [method, setMethod] = useState(route.method === 'ANY' ? 'GET' : route.method);
  const [body, setBody] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [answer, setAnswer] = useState<HandlerAnswer | null>(null);
  const address = routeAddress(database, filledPath(route.path, values));
  const hasBody = method !== 'GET' && method !== 'HEAD';
  const ask = () => {
    setBusy(true);
    askHandler(address, method, body)
      .then(setAnswer, (error: unknown) => complain('There was no answer', error))
      .finally(() => setBusy(false));
  };
  return (
    <form
      className={styles.form}
      aria-label={`${route.method} ${route.path}`}
      onSubmit={(event) => {
        event.preventDefault();
        ask();
      }}
    >
      <h3 className={styles.route}>
        <Badge kind="accent">{route.method}</Badge> <code>{route.path}</code>
      </h3>
      {route.method === 'ANY' && (
        <Field label="Method">
          {(control) => (
            <Select {...control} value={method} onChange={(event) => setMethod(event.target.value)}>
              {methods.map((each) => (
                <option key={each}>{each}</option>
              ))}
            </Select>
          )}
        </Field>
      )}
      {names.map((name) => (
        <Field key={name} label={name === '*' ? 'rest of the path' : name}>
          {(control) => (
            <Input
              {...control}
              isData
              value={values[name] ?? ''}
              onChange={(event) => setValues({ ...values, [name]: event.target.value })}
            />
          )}
        </Field>
      ))}
      {hasBody && (
        <Field label="Body" note="sent as JSON if it is JSON, else as text">
          {(control) => (
            <TextArea
              {...control}
              isData
              value={body}
              onChange={(event) => setBody(event.target.value)}
            />
          )}
        </Field>
      )}
      <p className={styles.address}>
        <code>{address}</code>
        <Copy text={curlOf(address, method)} what="curl command" />
      </p>
      <div className={styles.buttons}>
        <Button isSubmit kind="accent" icon="play" isBusy={isBusy}>
          Send as me
        </Button>
      </div>
      {answer !== null && <Answered answer={answer} />}
    </form>
  );
}

function curlOf(address: string, method: string): string {
  return `curl${method === 'GET' ? '' : ` -X ${method}`} '${location.origin}${address}'`;
}

function Answered({ answer }: { readonly answer: HandlerAnswer }) {
  const type = answer.headers.find(([name]) => name === 'content-type')?.[1];
  return (
    <section className={styles.result} aria-label="Answer" aria-live="polite">
      <header className={styles.title}>
        <h3>Answer</h3>
        <Badge kind={answer.status < 400 ? 'good' : 'danger'}>{answer.status}</Badge>
        {type !== undefined && <span className={styles.quiet}>{type}</span>}
      </header>
      <div className={styles.returned}>
        <pre>{answer.text === '' ? '(no body)' : answer.text}</pre>
      </div>
      {answer.isCut && <p className={styles.quiet}>The rest is not shown.</p>}
    </section>
  );
}
