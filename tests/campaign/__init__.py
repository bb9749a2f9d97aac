"""A search for wrong answers: random problems, judged by computations that share nothing with ours.

``python -m tests.campaign --minutes 30`` draws cases from seeds until the time is over, shrinks
what fails and prints how to repeat it. `draw` makes cases, `build` makes data and a model of one,
`evaluate` computes the objective of any model in long double, `oracles` finds other models of the
same problem, `properties` says what must hold, `shrink` simplifies a failing case.
"""
