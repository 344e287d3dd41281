"""What results say: a module for each subject, above all results, loaded when one is first shown."""

MODULES = {
    "Tally": "tally",
    "CalibrationErrors": "calibration",
    "Decomposition": "calibration",
    "CalibrationTest": "calibration",
    "Diagnosis": "diagnosis",
    "Skill": "skill",
    "Recalibrator": "recalibration",
    "GroupRecalibrator": "recalibration",
    "Pool": "pools",
    "Assessment": "assessment",
    "Breakdown": "groups",
    "RiskProfile": "profile",
    "Decision": "decisions",
    "DecisionCurve": "decisions",
    "OrderedAssessment": "ordered",
    "Comparison": "comparison",
    "SequentialComparison": "sequential",
    "TextAssessment": "texts",
    "TextComparison": "texts",
    "GradedAssessment": "questions",
    "QuestionComparison": "questions",
    "Leaderboard": "leaderboard",
    "Monitored": "monitored",
    "Drift": "drift",
}
"""By the name of a type of results, the module that registers how it is described and drawn."""
