import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { WafStateError } from '../contract/errors.js';
import { type Answer, sendAnswer, sendRawAnswer } from './answer.js';
import { type FormBody, hasForm, readForm } from './form-body.js';
import { guardHead, type Replacement } from './response-gate.js';
import { type Desk, Visit } from './visit.js';

/** Judges a request, then calls `proceed`, or answers it and calls `refused`. */
export function serve(
  desk: Desk,
  request: IncomingMessage,
  response: ServerResponse,
  uri: string,
  proceed: () => void,
  refused: () => void,
): void {
  const { settings } = desk;
  const visit = new Visit(desk, request, uri);
  // A head or an answer is under way; then the end of the connection ends nothing that is not ended otherwise.
  let headed = false;
  response.once('close', () => {
    if (headed) return;
    headed = true;
    visit.aborted();
    void visit.end();
  });

  const answer = (given: Answer): void => {
    if (headed) return;
    headed = true;
    refused();
    visit.answered(given);
    if (!settings.flushesBefore) {
      sendAnswer(given, request, response);
      void visit.end();
      return;
    }
    void visit.end().then((failure) => sendAnswer(failure ?? given, request, response));
  };

  const judgeBody = (bytes: Uint8Array | undefined): void => {
    const given = visit.judgeBody(bytes);
    if (given !== undefined) answer(given);
    else {
      guardResponse();
      proceed();
    }
  };

  const guardResponse = (): void => {
    guardHead(response, (head) => {
      headed = true;
      const given = visit.judgeResponse(head);
      if (given !== undefined) visit.answered(given);
      const replacement = (answer: Answer | undefined): Replacement =>
        answer && (() => sendAnswer(answer, request, response));
      if (settings.flushesBefore) return visit.end().then((failure) => replacement(failure ?? given));
      // Not at the response's end: a client that reads slowly, or a stream that never ends, counts now.
      setImmediate(() => void visit.end());
      return replacement(given);
    });
  };

  const head = visit.judgeHead();
  if (head !== undefined) answer(head);
  else if (!hasForm(request)) judgeBody(undefined);
  else {
    readForm(request, { limit: settings.bodyLimit, milliseconds: settings.bodyTimeout }, (body) => {
      // The client went as the last of it came: the visit has ended.
      if (headed) return;
      if (body.type === 'whole') judgeBody(body.bytes);
      else if (body.type !== 'aborted') answer(refusalOf(body.type, visit));
    });
  }
}

function refusalOf(type: Exclude<FormBody['type'], 'whole' | 'aborted'>, visit: Visit): Answer {
  switch (type) {
    case 'too_large':
      return visit.refuse('body_too_large', 413);
    case 'late':
      return visit.refuse('body_timeout', 408);
    case 'encoded':
      return visit.refuse('body_encoded', 415);
    case 'consumed':
      return visit.fail(
        new WafStateError(
          'unsupported',
          'the guard comes after something that has read the body or set its encoding; mount it first',
        ),
      );
  }
}

/**
 * Judges an upgrade, such as a WebSocket's. It has no response that could be seen here: to rules it is answered with 101 when it is
 * handed on, and its state is stored then.
 */
export function serveUpgrade(
  desk: Desk,
  request: IncomingMessage,
  socket: Duplex,
  proceed: () => void,
): void {
  const visit = new Visit(desk, request, request.url ?? '');
  // The server has let go of the socket: an error that nobody listens to would end the process.
  const letGo = (): void => {
    socket.destroy();
  };
  socket.on('error', letGo);
  const given =
    visit.judgeHead() ?? visit.judgeBody(undefined) ?? visit.judgeResponse({ status: 101, headers: [] });
  const finish = (answer: Answer | undefined): void => {
    if (answer !== undefined) sendRawAnswer(answer, request, socket);
    else if (!socket.destroyed) {
      socket.off('error', letGo);
      proceed();
    }
  };
  if (given !== undefined) visit.answered(given);
  const ended = visit.end();
  if (desk.settings.flushesBefore) void ended.then((failure) => finish(failure ?? given));
  else finish(given);
}
