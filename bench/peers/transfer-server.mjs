// The HTTP side that both peers share: `POST /transfer` with a JSON body moves money and answers
// 204 when that is committed; `GET /total` answers with the sum of all balances.
import { createServer } from 'node:http';

/** `bank.transfer(from, to, amount)` and `bank.total()` may return promises. Tells its parent the port. */
export function serve(bank) {
  const server = createServer((request, response) => {
    if (request.method === 'POST' && request.url === '/transfer')
      readTransfer(bank, request, response);
    else if (request.url === '/total') answerTotal(bank, response);
    else response.writeHead(404).end();
  });
  server.listen(0, '127.0.0.1', () => process.send(server.address().port));
  process.on('disconnect', () => process.exit());
}

function readTransfer(bank, request, response) {
  let text = '';
  request.setEncoding('utf8');
  request.on('data', (chunk) => {
    text += chunk;
  });
  request.on('end', async () => {
    try {
      const { from, to, amount } = JSON.parse(text);
      const moving = bank.transfer(from, to, amount);
      // A bank that is done at once need not wait for another tick.
      if (moving !== undefined) await moving;
      response.writeHead(204).end();
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  });
}

async function answerTotal(bank, response) {
  response.end(String(await bank.total()));
}
