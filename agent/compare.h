/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef AGENT_COMPARE_H
#define AGENT_COMPARE_H
/*
 * Documents of two kernels -> the report that is pasted into a mail, without a
 * server: `mmtrend compare BEFORE AFTER`. Words by common/verdict.h.
 */
#include "../common/buf.h"
#include "../common/err.h"
#include "../common/record.h"

struct compare_opts {
	const char *form;	/* "full"; "commit-log": tables; "cover": those
				 * and the machine; NULL: full */
	const char *title;	/* NULL: made from the kernels */
	const char *rerun;	/* command that measures this again; NULL: the
				 * documents' own */
	uint64_t json;		/* for programs instead */
};

enum compare_result {		/* the exit code */
	COMPARE_FINE,		/* nothing is slower */
	COMPARE_SLOWER,		/* an alarm */
	COMPARE_OPEN,		/* a figure of time: no word for it */
	COMPARE_NOT_VALID,	/* a figure is not to be trusted, or none is */
};

/*
 * Of two documents the first is "before". More are sorted into sides by their
 * kernels, which must be two; the first document's is "before". Several of one
 * side pool as on the server. The result, or -1 with @e: usage.
 */
int compare_documents(const struct compare_opts *o, struct record *const *docs,
		      size_t n, struct buf *out, struct err *e);

#endif
