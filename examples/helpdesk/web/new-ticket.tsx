import { type FormEvent, useState } from 'react';
import { useReducer } from 'reducerdb/react';
import { reducers } from './module_bindings/index.ts';
import { useAttempt } from './notices.tsx';
import { goTo, hrefOf } from './route.ts';

export function NewTicket() {
  const openTicket = useReducer(reducers.openTicket);
  const [isSending, setSending] = useState(false);
  const attempt = useAttempt();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setSending(true);
    const opened = await attempt(
      openTicket({ subject: String(form.get('subject')), text: String(form.get('text')) }),
    );
    setSending(false);
    // What a reducer returns is typed, too: the number of the ticket.
    if (opened) goTo({ kind: 'ticket', id: opened.value });
  };
  return (
    <form className="new-ticket" onSubmit={submit}>
      <a className="back" href={hrefOf({ kind: 'none' })}>
        ← All tickets
      </a>
      <h2>New question</h2>
      <label>
        Subject
        <input name="subject" required maxLength={120} autoFocus />
      </label>
      <label>
        What can we do for you?
        <textarea name="text" required rows={8} />
      </label>
      <button type="submit" disabled={isSending}>
        {isSending ? 'Sending …' : 'Send'}
      </button>
    </form>
  );
}
